import type { ComponentChild } from 'preact';
import { GatewayError } from '../errors.js';
import type { Tenant } from '../keys/model.js';
import { isTenantName } from '../keys/schemas.js';
import type { Site } from './site.js';
import type { SignedIn, Visitor } from './state.js';

/** What every page and form knows of a request. */
export interface PageCall {
  site: Site;
  visitor: Visitor;
  /** Parts of the path by name. */
  params: Record<string, string>;
  query: ReadonlyMap<string, string>;
  /** The query as it was sent. */
  search: string;
  /** Fields of a form; empty for a GET. */
  form: ReadonlyMap<string, string>;
  /** The request's `Cookie` header. */
  cookie: string;
  /** The client's address. */
  address: string;
}

/** What a page for signed-in users knows. */
export interface UserCall extends PageCall {
  visitor: SignedIn;
}

/** What a page below `/tenants/:tenant` knows. */
export interface TenantCall extends UserCall {
  tenant: Tenant;
}

export interface PageAnswer {
  title: string;
  body: ComponentChild;
  /** 200 by default. */
  status?: number;
  headers?: Record<string, string>;
  /** The one other origin whose pictures this page may show. */
  picturesOf?: string | undefined;
  cookies?: string[];
}

export interface Redirect {
  redirect: string;
  cookies?: string[];
}

type Answer = PageAnswer | Redirect;

/** One page or form of the site. */
export interface PageRoute {
  method: 'GET' | 'POST';
  /** With `:name` for its variable parts. */
  path: string;
  access: Access;
  /** A form whose answer shows a secret: sent a second time, by a reload, it does nothing. */
  once: boolean;
  /** Checks who the visitor is; rejects where they may not have this page. */
  enter(call: PageCall): Promise<PageCall>;
  /** Answers a call that `enter` has let through. */
  run(call: PageCall): Promise<Answer>;
}

/**
 * Who may have a route. `anyone`; a signed-in `user`; an `operator`; `tenant`: an operator, or a member of the tenant in
 * the path (`:tenant`), which for everybody else does not exist.
 */
export type Access = 'anyone' | 'user' | 'operator' | 'tenant';

/** Checks the visitor of a route. What it makes sure of is in the call's type, so that no page checks it again. */
interface Guard<Call extends PageCall, Path extends string = string> {
  access: Access;
  enter(call: PageCall): Promise<Call>;
  /** For the type alone: the paths that have the parts that the guard reads. */
  path?: Path;
}

type TenantPath = `/tenants/:tenant${string}`;

export const forAnyone: Guard<PageCall> = { access: 'anyone', enter: async (call) => call };

export const forUser: Guard<UserCall> = { access: 'user', enter: async (call) => requireSignedIn(call) };

export const forOperator: Guard<UserCall> = {
  access: 'operator',
  enter: async (call) => requireOperator(call),
};

export const forTenant: Guard<TenantCall, TenantPath> = {
  access: 'tenant',
  enter: async (call) => findTenant(requireSignedIn(call)),
};

/** A page of one tenant that is not for its members. */
export const forTenantOperator: Guard<TenantCall, TenantPath> = {
  access: 'operator',
  enter: async (call) => findTenant(requireOperator(call)),
};

type Run<Call> = (call: Call) => Promise<Answer>;

/** A page. */
export function getRoute<Call extends PageCall, Path extends string>(
  { access, enter }: Guard<Call, Path>,
  path: NoInfer<Path>,
  run: Run<Call>,
): PageRoute {
  return { method: 'GET', path, access, once: false, enter, run };
}

/** What a form does. */
export function postRoute<Call extends PageCall, Path extends string>(
  { access, enter }: Guard<Call, Path>,
  path: NoInfer<Path>,
  run: Run<Call>,
): PageRoute {
  return { method: 'POST', path, access, once: false, enter, run };
}

/** What a form does whose answer shows a secret. */
export function postOnceRoute<Call extends PageCall, Path extends string>(
  guard: Guard<Call, Path>,
  path: NoInfer<Path>,
  run: Run<Call>,
): PageRoute {
  return { ...postRoute(guard, path, run), once: true };
}

function requireSignedIn(call: PageCall): UserCall {
  const { visitor } = call;
  if (!visitor) throw new GatewayError('unauthorized', { message: 'Sign in first.' });
  return { ...call, visitor };
}

function requireOperator(call: PageCall): UserCall {
  const entered = requireSignedIn(call);
  if (entered.visitor.operator) return entered;
  throw new GatewayError('forbidden', { message: 'Only an operator of this gateway may see this page.' });
}

async function findTenant(call: UserCall): Promise<TenantCall> {
  const { params, site, visitor } = call;
  const tenant = isTenantName(params.tenant) ? await site.store.tenant(params.tenant) : undefined;
  const mayEnter = tenant && (visitor.operator || visitor.tenants.some(({ id }) => id === tenant.id));
  // The same for another customer's tenant and for one that is not there: the answer reveals neither.
  if (!mayEnter) throw new GatewayError('not_found');
  return { ...call, tenant };
}

/** What a form holds when it is shown again: what was typed, and what is wrong with it, by field. */
export interface FormState {
  values: ReadonlyMap<string, string>;
  problems: Readonly<Record<string, string>>;
}

export const emptyForm: FormState = { values: new Map(), problems: {} };

/**
 * What was wrong with a form, for showing it again; any other error is thrown on. `field` is where an error that names
 * none belongs, such as a name that is in use.
 */
export function formState(error: unknown, form: ReadonlyMap<string, string>, field: string): FormState {
  if (!(error instanceof GatewayError)) throw error;
  if (error.code === 'exists') return { values: form, problems: { [field]: error.message } };
  if (error.code !== 'invalid_input' || !error.details) throw error;
  const problems = Object.fromEntries(error.details.map((detail) => [detail.field, detail.problem]));
  return { values: form, problems };
}

/** Part of a list, as the query asks for it; a query that no page of this site leads to is `not_found`. */
export async function readList<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'invalid_input') throw new GatewayError('not_found');
    throw error;
  }
}
