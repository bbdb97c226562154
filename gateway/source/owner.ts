/** Whose a connection or a TLS session is: nothing of it ever serves another tenant, nor another scheme, host or port. */
export interface Owner {
  tenant: string;
  /** `scheme://host[:port]`, as `URL.origin` writes it. */
  origin: string;
}
