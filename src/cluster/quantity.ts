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

/** In the words of Go's parser; undefined for a text that is a quantity. */
export function quantityProblem(text: string): string | undefined {
  if (!/^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$/.test(text)) {
    return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  }
  return Number.isNaN(parseQuantity(text)) ? "unable to parse quantity's suffix" : undefined;
}

/** NaN for a text that is no quantity. */
export function parseQuantity(text: string): number {
  const [, number, unit = ''] = form.exec(text) ?? [];
  if (number === undefined || !Object.hasOwn(factors, unit)) return Number.NaN;
  return Number(number) * (factors[unit] ?? Number.NaN);
}
