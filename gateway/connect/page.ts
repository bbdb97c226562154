import type { ComponentChild } from 'preact';
import { GatewayError } from '../errors.js';
import type { Tenant } from '../keys/model.js';
import type { Site } from './site.js';
import type { Visitor } from './state.js';

/**
 * Who may have a route. `anyone`; a signed-in `user`; an `operator`; `tenant`: an operator, or a member of the tenant in
 * the path (`:tenant`), which for everybody else does not exist.
 */
export type Access = 'anyone' | 'user' | 'operator' | 'tenant';

/** A request for a page, once it is known that its sender may have it. */
export interface PageCall {
  site: Site;
  visitor: Visitor;
  /** The tenant in the path; there wherever `access` is `tenant` or the path has `:tenant`. */
  tenant?: Tenant | undefined;
  /** Parts of the path by name. */
  params: Record<string, string>;
  query: Map<string, string>;
  /** Fields of a form; empty for a GET. */
  form: Map<string, string>;
  /** The request's `Cookie` header. */
  cookie: string;
  /** The client's address. */
  address: string;
}

export interface PageAnswer {
  title: string;
  body: ComponentChild;
  /** 200 by default. */
  status?: number;
  headers?: Record<string, string>;
  cookies?: string[];
}

export interface Redirect {
  redirect: string;
  cookies?: string[];
}

/** One page or form of the site. */
export interface PageRoute {
  method: 'GET' | 'POST';
  /** With `:name` for its variable parts. */
  path: string;
  access: Access;
  /** A form whose answer shows a secret: sent a second time, by a reload, it does nothing. */
  once?: boolean;
  run: (call: PageCall) => Promise<PageAnswer | Redirect>;
}

/** What a form holds when it is shown again: what was typed, and what is wrong with it, by field. */
export interface FormState {
  values: ReadonlyMap<string, string>;
  problems: Readonly<Record<string, string>>;
}

export const emptyForm: FormState = { values: new Map(), problems: {} };

/**
 * What was wrong with a form, for showing it again; any other error is thrown on. `field` is where an error that names
 * none belongs, such as a name that is taken.
 */
export function formState(error: unknown, form: ReadonlyMap<string, string>, field: string): FormState {
  if (!(error instanceof GatewayError)) throw error;
  if (error.code === 'exists') return { values: form, problems: { [field]: error.message } };
  if (error.code !== 'invalid_input' || !error.details) throw error;
  const problems = Object.fromEntries(error.details.map((detail) => [detail.field, detail.problem]));
  return { values: form, problems };
}

/** The user of a page that only users see. */
export function userOf({ visitor }: Pick<PageCall, 'visitor'>): NonNullable<Visitor> {
  if (!visitor) throw new GatewayError('unauthorized');
  return visitor;
}

/** The tenant of a page below `/tenants/:tenant`. */
export function tenantOf({ tenant }: Pick<PageCall, 'tenant'>): Tenant {
  if (!tenant) throw new GatewayError('not_found');
  return tenant;
}

/** How the audit log names who did something on these pages. */
export function actorOf(call: Pick<PageCall, 'visitor'>): string {
  return `user:${userOf(call).user.email}`;
}
