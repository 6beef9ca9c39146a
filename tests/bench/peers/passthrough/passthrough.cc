// Bare consume-produce pass-through in Kafka transactions: the upper limit that the Kafka backend is measured against.
// load BROKER TOPIC PARTITIONS COUNT BYTES   | run BROKER IN OUT PARTITIONS COUNT COMMIT_MS
#include <librdkafka/rdkafka.h>
#include <sys/resource.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
using Clock = std::chrono::steady_clock;
static void Die(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::exit(1);
}
static void Set(rd_kafka_conf_t* c, const char* k, const char* v) {
  char e[256];
  if (rd_kafka_conf_set(c, k, v, e, sizeof e) != RD_KAFKA_CONF_OK) Die(k, e);
}
static double Cpu() {
  rusage r;
  getrusage(RUSAGE_SELF, &r);
  return r.ru_utime.tv_sec + r.ru_stime.tv_sec + 1e-6 * (r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}
static void Dr(rd_kafka_t*, const rd_kafka_message_t* m, void*) {
  if (m->err) Die("delivery", rd_kafka_err2str(m->err));
}
static rd_kafka_t* Producer(const char* broker, const char* tid) {
  auto* c = rd_kafka_conf_new();
  char e[256];
  Set(c, "bootstrap.servers", broker);
  Set(c, "linger.ms", "10");
  Set(c, "compression.type", "lz4");
  Set(c, "enable.idempotence", "true");
  Set(c, "queue.buffering.max.messages", "2000000");
  Set(c, "batch.size", "1000000");
  Set(c, "batch.num.messages", "20000");
  if (tid) Set(c, "transactional.id", tid);
  rd_kafka_conf_set_dr_msg_cb(c, Dr);
  auto* p = rd_kafka_new(RD_KAFKA_PRODUCER, c, e, sizeof e);
  if (!p) Die("producer", e);
  return p;
}
static void Ok(rd_kafka_error_t* e, const char* what) {
  if (e) Die(what, rd_kafka_error_string(e));
}
int main(int n, char** a) {
  std::string verb = n > 1 ? a[1] : "";
  if (verb == "load") {
    auto* p = Producer(a[2], nullptr);
    auto* t = rd_kafka_topic_new(p, a[3], nullptr);
    int parts = atoi(a[4]);
    long count = atol(a[5]);
    int bytes = atoi(a[6]);
    std::vector<char> v(bytes);
    unsigned long x = 88172645463325252ul;
    for (long i = 0; i < count; i++) {
      for (int k = 0; k + 8 <= bytes; k += 8) {
        if (k % 24 == 0) {
          x ^= x << 13;
          x ^= x >> 7;
          x ^= x << 17;
        }
        unsigned long y = x & (k % 16 ? 0xffffffff : ~0ul);
        memcpy(&v[k], &y, 8);
      }
      long key = x % 100000;
      while (rd_kafka_produce(t, key % parts, RD_KAFKA_MSG_F_COPY, v.data(), bytes, &key, 8, nullptr) == -1)
        rd_kafka_poll(p, 10);
      if (i % 1000 == 0) rd_kafka_poll(p, 0);
    }
    rd_kafka_flush(p, 60000);
    std::printf("loaded %ld\n", count);
    return 0;
  }
  if (verb != "run") Die("usage", "load|run");
  int parts = atoi(a[5]);
  long count = atol(a[6]);
  int ms = atoi(a[7]);
  char e[256];
  auto* c = rd_kafka_conf_new();
  std::string g = std::string("pt-") + a[4];
  Set(c, "bootstrap.servers", a[2]);
  Set(c, "group.id", g.c_str());
  Set(c, "enable.auto.commit", "false");
  Set(c, "enable.auto.offset.store", "false");
  Set(c, "auto.offset.reset", "earliest");
  Set(c, "isolation.level", "read_committed");
  Set(c, "queued.min.messages", "200000");
  Set(c, "fetch.message.max.bytes", "4000000");
  auto* k = rd_kafka_new(RD_KAFKA_CONSUMER, c, e, sizeof e);
  if (!k) Die("consumer", e);
  rd_kafka_poll_set_consumer(k);
  auto* l = rd_kafka_topic_partition_list_new(parts);
  for (int i = 0; i < parts; i++)
    rd_kafka_topic_partition_list_add(l, a[3], i)->offset = RD_KAFKA_OFFSET_BEGINNING;
  rd_kafka_assign(k, l);
  auto* p = Producer(a[2], g.c_str());
  auto* t = rd_kafka_topic_new(p, a[4], nullptr);
  Ok(rd_kafka_init_transactions(p, 30000), "init");
  std::vector<long> next(parts, -1);
  long done = 0, tx = 0;
  auto start = Clock::now();
  double cpu = Cpu();
  while (done < count) {
    Ok(rd_kafka_begin_transaction(p), "begin");
    auto until = Clock::now() + std::chrono::milliseconds(ms);
    long in_tx = 0;
    while (done < count && Clock::now() < until) {
      auto* m = rd_kafka_consumer_poll(k, 20);
      if (!m) continue;
      if (m->err) {
        rd_kafka_message_destroy(m);
        continue;
      }
      while (rd_kafka_produce(t, m->partition, RD_KAFKA_MSG_F_COPY, m->payload, m->len, m->key, m->key_len,
                              nullptr) == -1)
        rd_kafka_poll(p, 5);
      next[m->partition] = m->offset + 1;
      done++;
      if (++in_tx % 500 == 0) rd_kafka_poll(p, 0);
      rd_kafka_message_destroy(m);
    }
    rd_kafka_flush(p, -1);
    auto* o = rd_kafka_topic_partition_list_new(parts);
    for (int i = 0; i < parts; i++)
      if (next[i] >= 0) rd_kafka_topic_partition_list_add(o, a[3], i)->offset = next[i];
    auto* md = rd_kafka_consumer_group_metadata(k);
    if (o->cnt) Ok(rd_kafka_send_offsets_to_transaction(p, o, md, -1), "offsets");
    Ok(rd_kafka_commit_transaction(p, -1), "commit");
    rd_kafka_consumer_group_metadata_destroy(md);
    rd_kafka_topic_partition_list_destroy(o);
    tx++;
  }
  double s = std::chrono::duration<double>(Clock::now() - start).count();
  cpu = Cpu() - cpu;
  std::printf(
      "{\"events\":%ld,\"seconds\":%.3f,\"events_per_s\":%.0f,\"cpu_us_per_event\":%.3f,\"transactions\":%ld}\n",
      done, s, done / s, cpu / done * 1e6, tx);
  fflush(stdout);
  std::_Exit(0);
}
