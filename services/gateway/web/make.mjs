// Builds and checks the page. Needs Node 18 or later and npm.
//
//   node make.mjs install DIR        installs the packages of package-lock.json in DIR/node_modules, if they changed
//   node make.mjs check DIR          checks the types of sources and tests
//   node make.mjs build DIR [OUT]    builds the page into OUT (default: dist beside this file)
//   node make.mjs current DIR        exit code 1 if dist differs in any byte from a build of the sources
//   node make.mjs test DIR           runs the unit tests (tests/unit/web)
//
// DIR is a folder for packages and intermediate files. It is outside the source tree, because its files are not the project's.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { worldMap } from "./map.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const tests = resolve(here, "../../../tests/unit/web");
const dist = join(here, "dist");
const kBundled = ["uplot"]; // packages whose code is in app.js
const kLicensed = [...kBundled, "world-atlas"]; // LICENSES.txt has their licences; world.json is made from world-atlas

function fail(message) {
  console.error(`make.mjs: ${message}`);
  process.exit(1);
}

function run(program, args, options = {}) {
  const done = spawnSync(program, args, { stdio: "inherit", ...options });
  if (done.error) fail(`${program} cannot be run: ${done.error.message}`);
  if (done.status !== 0) process.exit(done.status ?? 1);
}

function install(dir) {
  const lock = readFileSync(join(here, "package-lock.json"), "utf8");
  const stamp = join(dir, "installed-lock.json");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  mkdirSync(dir, { recursive: true });
  rmSync(stamp, { force: true });
  for (const file of ["package.json", "package-lock.json"]) copyFileSync(join(here, file), join(dir, file));
  run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: dir });
  writeFileSync(stamp, lock);
}

function esbuildOf(dir) {
  const require = createRequire(join(dir, "package.json"));
  try {
    return require("esbuild");
  } catch {
    return fail(`${dir} has no packages yet: node make.mjs install ${dir}`);
  }
}

const testFiles = () => readdirSync(tests).filter((name) => name.endsWith("_test.ts")).sort().map((name) => join(tests, name));

function check(dir) {
  const modules = join(dir, "node_modules");
  // The packages are not beside the sources, and tsconfig.json does not know DIR.
  const paths = Object.fromEntries(kBundled.map((name) => [name, [join(modules, name)]]));
  const config = (name, include, types) => {
    const file = join(dir, name);
    const compilerOptions = { typeRoots: [join(modules, "@types")], types, paths };
    writeFileSync(file, JSON.stringify({ extends: join(here, "tsconfig.json"), compilerOptions, include }));
    run(process.execPath, [join(modules, "typescript/bin/tsc"), "--project", file]);
  };
  config("tsconfig.page.json", [join(here, "src")], []);
  config("tsconfig.tests.json", [tests], ["node"]);
}

function licences(dir) {
  return kLicensed
    .map((name) => {
      const folder = join(dir, "node_modules", name);
      const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      return `${name} ${version}\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n`;
    })
    .join("\n----\n\n");
}

async function page(dir) {
  const result = await esbuildOf(dir).build({
    absWorkingDir: here,
    entryPoints: { app: "src/main.ts" },
    nodePaths: [join(dir, "node_modules")],
    bundle: true,
    minify: true,
    format: "iife",
    target: ["es2021", "chrome100", "firefox100", "safari15.4"],
    legalComments: "none",
    charset: "utf8",
    write: false,
    outdir: "dist",
    logLevel: "warning",
  });
  const files = new Map(result.outputFiles.map((file) => [file.path.split("/").pop(), Buffer.from(file.contents)]));
  for (const name of ["index.html", "icon.svg"]) files.set(name, readFileSync(join(here, "src", name)));
  files.set("world.json", Buffer.from(JSON.stringify(worldMap(join(dir, "node_modules")))));
  files.set("LICENSES.txt", Buffer.from(licences(dir)));
  return files;
}

async function build(dir, out) {
  const files = await page(dir);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  for (const [name, bytes] of files) writeFileSync(join(out, name), bytes);
  for (const [name, bytes] of [...files].sort()) console.log(`${name.padEnd(14)} ${String(bytes.length).padStart(7)} bytes`);
}

async function current(dir) {
  const files = await page(dir);
  const there = existsSync(dist) ? readdirSync(dist) : [];
  const wrong = [...files].filter(([name, bytes]) => !there.includes(name) || !readFileSync(join(dist, name)).equals(bytes));
  const names = [...wrong.map(([name]) => name), ...there.filter((name) => !files.has(name))];
  if (names.length > 0) fail(`dist differs from a build of the sources (${names.join(", ")}); run ./dev web and commit dist`);
  console.log(`dist is current: ${files.size} files`);
}

async function test(dir) {
  const out = join(dir, "tests");
  rmSync(out, { recursive: true, force: true });
  await esbuildOf(dir).build({
    absWorkingDir: here,
    entryPoints: testFiles(),
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node18",
    sourcemap: "inline",
    outdir: out,
    outExtension: { ".js": ".mjs" },
    logLevel: "warning",
    define: { TEST_DATA: JSON.stringify(join(tests, "data")) },
  });
  const programs = readdirSync(out).sort().map((name) => join(out, name));
  run(process.execPath, ["--enable-source-maps", "--test", ...programs]);
}

const [verb, folder, out] = process.argv.slice(2);
const verbs = { install, check, build: (dir) => build(dir, out ? resolve(out) : dist), current, test };
if (!verbs[verb] || !folder) fail(`needs one of ${Object.keys(verbs).join(", ")} and a folder; see the head of this file`);
await verbs[verb](resolve(folder));
