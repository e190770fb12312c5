/** What clients asked of the API server, for tests that count requests and open watches. */

export interface RequestRecord {
  readonly id: number;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly userAgent: string;
  /** get, list, watch, create, update, patch, delete, deletecollection; `connect` for logs; empty outside the API. */
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  /** Milliseconds of the cluster's clock. */
  readonly startedAt: number;
  /** Undefined until the headers of the response went out. */
  readonly status: number | undefined;
  /** Undefined while the response is not complete: a watch or a followed log is open. */
  readonly endedAt: number | undefined;
}

export type RequestFilter = Partial<
  Pick<RequestRecord, 'method' | 'path' | 'verb' | 'resource' | 'subresource' | 'namespace' | 'name' | 'status'>
> & {
  /** Matches when the user agent contains it. */
  readonly userAgent?: string;
  readonly open?: boolean;
};

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The oldest records are dropped above `capacity`; the counters are not. */
export class RequestLog {
  readonly #capacity: number;
  readonly #records: Mutable<RequestRecord>[] = [];
  #total = 0;

  constructor(capacity = 100_000) {
    this.#capacity = capacity;
  }

  /** How many requests were ever received. */
  get total(): number {
    return this.#total;
  }

  /** In order of arrival. */
  find(filter: RequestFilter = {}): readonly RequestRecord[] {
    return this.#records.filter((record) => matches(record, filter));
  }

  count(filter: RequestFilter = {}): number {
    return this.find(filter).length;
  }

  /** Forgets the requests that are complete. */
  clear(): void {
    const open = this.#records.filter((record) => record.endedAt === undefined);
    this.#records.splice(0, this.#records.length, ...open);
  }

  /** @internal */
  begin(request: Omit<RequestRecord, 'id' | 'status' | 'endedAt'>): Mutable<RequestRecord> {
    this.#total += 1;
    const record = { ...request, id: this.#total, status: undefined, endedAt: undefined };
    this.#records.push(record);
    if (this.#records.length > this.#capacity) this.#records.shift();
    return record;
  }
}

function matches(record: RequestRecord, filter: RequestFilter): boolean {
  const { userAgent, open, ...exact } = filter;
  if (userAgent !== undefined && !record.userAgent.includes(userAgent)) return false;
  if (open !== undefined && (record.endedAt === undefined) !== open) return false;
  return Object.entries(exact).every(([key, value]) => record[key as keyof RequestRecord] === value);
}
