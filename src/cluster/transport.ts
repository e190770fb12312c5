/** One request to the API server and its answer, over whichever transport: HTTP, or a call in memory. */

export interface ApiRequest {
  readonly method: string;
  /** Percent-decoded only where it is taken apart. Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array | undefined;
  /** Aborts when the client has gone away. */
  readonly signal: AbortSignal;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * A stream's pieces are sent on as they come; its `return` is called when the client goes away. One that rejects with
   * ConnectionLost breaks the connection.
   */
  readonly body: string | AsyncIterable<string | Uint8Array>;
}

export type Transport = (request: ApiRequest) => Promise<ApiResponse>;

/** The connection broke before an answer came: nobody knows whether the request took effect. */
export class ConnectionLost extends Error {
  constructor(message = 'socket hang up', options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConnectionLost';
  }
}
