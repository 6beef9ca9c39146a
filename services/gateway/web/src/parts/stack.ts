// Values of layers that stand on each other.

// The outer ends of stacked bars: of each layer the sum with all layers before it, positive and negative values apart.
// A layer without a value (null or 0) has no bar.
export function stacked(values: (number | null)[][]): (number | null)[][] {
  const above: number[] = [];
  const below: number[] = [];
  return values.map((layer) =>
    layer.map((value, at) => {
      if (value === null || value === 0) return null;
      const side = value > 0 ? above : below;
      return (side[at] = (side[at] ?? 0) + value);
    }));
}
