/** What the package has no types for. */
declare module 'parse-prometheus-text-format' {
  interface Family {
    readonly name: string;
    readonly type: string;
    readonly metrics: readonly { readonly value?: string; readonly labels?: Readonly<Record<string, string>> }[];
  }
  function parsePrometheusTextFormat(text: string): readonly Family[];
  export = parsePrometheusTextFormat;
}
