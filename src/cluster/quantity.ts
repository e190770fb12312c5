/** Kubernetes quantities: `500m`, `32Mi`, `1e3`. */

const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

const form = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([A-Za-z]*)$/;

export function isQuantity(text: string): boolean {
  const parts = form.exec(text);
  return parts !== null && (parts[2] ?? '') in factors;
}

/** NaN for a text that is no quantity. */
export function parseQuantity(text: string): number {
  const [, number, unit = ''] = form.exec(text) ?? [];
  return number === undefined ? Number.NaN : Number(number) * (factors[unit] ?? Number.NaN);
}
