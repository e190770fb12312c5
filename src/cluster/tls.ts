/** The key and the certificate with which the server speaks HTTPS. */

/** PEM texts. */
export interface TlsFiles {
  readonly key: string;
  readonly certificate: string;
  readonly authority?: string;
}
