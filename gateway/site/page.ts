import type { VNode } from 'preact';
import { GatewayError } from '../errors.js';
import type { KeyWithSecrets, Tenant } from '../keys/model.js';
import { isKeyId, isTenantName } from '../keys/schemas.js';
import { actorOf, type WithCookies } from './accounts/account.js';
import type { Site } from './site.js';
import type { SignedIn, Visitor } from './state.js';

/** What every page and form knows of a request; `address` is the client's, `agent` the browser's `User-Agent`. */
export interface PageCall {
  site: Site;
  visitor: Visitor;
  /** Parts of the path by name. */
  params: Record<string, string>;
  query: ReadonlyMap<string, string>;
  path: string;
  /** The query as it was sent. */
  search: string;
  /** Fields of a form; empty for a GET. */
  form: ReadonlyMap<string, string>;
  /** The request's `Cookie` header. */
  cookie: string;
  address: string;
  agent: string;
  /** Whether the visitor's role may change what the page shows; the page then has its forms. */
  mayChange: boolean;
}

/** Of signed-in users; `actor` is how the audit log names them. */
export type UserCall = PageCall & { visitor: SignedIn; actor: string };

/** Of a page below `/tenants/:tenant`. */
export type TenantCall = UserCall & { tenant: Tenant };

/** Of a page below `/keys/:key`; its tenant is the key's. */
export type KeyCall = TenantCall & { key: KeyWithSecrets };

/** A page with more than its HTML. */
export interface PageAnswer extends Partial<WithCookies> {
  page: VNode;
  /** What its forms hold. */
  form?: FormState;
  /** 200 by default. */
  status?: number;
  headers?: Record<string, string>;
  /** The one other origin whose pictures this page may show. */
  picturesOf?: string | undefined;
}

export type Redirect = Partial<WithCookies> & { redirect: string };

/** A file to be saved, as CSV. */
export type Download = { csv: { name: string; text: string } };

export type Answer = VNode | PageAnswer | Redirect | Download;

/** One page or form of the site. */
export interface PageRoute {
  method: 'GET' | 'POST';
  /** With `:name` for its variable parts. */
  path: string;
  access: Access;
  /** A form whose answer shows a secret: sent a second time, by a reload, it does nothing. */
  once: boolean;
  /** Checks who the visitor is; rejects where they may not have this page. */
  enter(call: PageCall): PageCall | Promise<PageCall>;
  /** Answers a call that `enter` has let through. */
  run(call: PageCall): Promise<Answer>;
}

/**
 * `operator`: support staff too may read its pages. `tenant`: the staff, and the people of the tenant in the path, or of
 * the key's in the path, which for everybody else does not exist; viewers may read its pages. Forms need a role that may change things.
 */
export type Access = 'anyone' | 'user' | 'operator' | 'tenant';

type TenantPath = `/tenants/:tenant${string}`;
type KeyPath = `/keys/:key${string}`;

/** Makes routes, by who may have them; the check is in the type of the call, so that no page repeats it. */
function routesOf(method: PageRoute['method'], once: boolean) {
  const changes = method === 'POST';
  function route<Call extends PageCall, Path extends string = string>(
    access: Access,
    enter: (call: PageCall) => Call | Promise<Call>,
  ) {
    return (path: Path, run: (call: Call) => Promise<Answer>): PageRoute => ({
      method,
      once,
      path,
      access,
      enter,
      run,
    });
  }
  return {
    anyone: route('anyone', (call) => call),
    user: route('user', requireSignedIn),
    operator: route('operator', (call) => requireStaff(call, changes)),
    tenant: route<TenantCall, TenantPath>('tenant', (call) => findTenant(requireSignedIn(call), changes)),
    key: route<KeyCall, KeyPath>('tenant', (call) => findKey(requireSignedIn(call), changes)),
    /** A page of one tenant that is not for its members. */
    tenantOperator: route<TenantCall, TenantPath>('operator', (call) =>
      findTenant(requireStaff(call, changes), changes),
    ),
  };
}

/** A page. */
export const get = routesOf('GET', false);
/** What a form does. */
export const post = routesOf('POST', false);
/** What a form does whose answer shows a secret. */
export const postOnce = routesOf('POST', true);

function requireSignedIn(call: PageCall): UserCall {
  const { visitor } = call;
  if (!visitor) throw new GatewayError('unauthorized', { message: 'Sign in first.' });
  return { ...call, visitor, actor: actorOf(visitor.user) };
}

function requireStaff(call: PageCall, changes: boolean): UserCall {
  const entered = requireSignedIn(call);
  const { role } = entered.visitor;
  if (role === null)
    throw new GatewayError('forbidden', { message: 'Only an operator of this gateway may see this page.' });
  const mayChange = role === 'operator';
  if (changes && !mayChange) throw readsOnly();
  return { ...entered, mayChange };
}

async function findTenant(call: UserCall, changes: boolean): Promise<TenantCall> {
  return { ...call, ...(await findTenantFor(call.visitor, call.params.tenant, call.site, changes)) };
}

async function findKey(call: UserCall, changes: boolean): Promise<KeyCall> {
  const { store } = call.site;
  const id = isKeyId(call.params.key) ? call.params.key : undefined;
  const [key, found] = id ? await Promise.all([store.key(id), store.findKeys([id])]) : [];
  const entered = enterTenant(call.visitor, found?.[0]?.tenant, changes);
  if (!key) throw new GatewayError('not_found');
  return { ...call, ...entered, key };
}

/** The tenant of this name, where the visitor is of the staff or one of its people; `changes` needs a role that may. */
export async function findTenantFor(
  visitor: SignedIn,
  name: string | undefined,
  { store }: Pick<Site, 'store'>,
  changes: boolean,
): Promise<{ tenant: Tenant; mayChange: boolean }> {
  return enterTenant(visitor, isTenantName(name) ? await store.tenant(name) : undefined, changes);
}

function enterTenant(visitor: SignedIn, tenant: Tenant | undefined, changes: boolean) {
  const own = visitor.tenants.find(({ id }) => id === tenant?.id);
  // The same for another customer's tenant and for one that is not there: the answer reveals neither.
  if (!tenant || (visitor.role === null && !own)) throw new GatewayError('not_found');
  const isSuspended = tenant.suspended_at !== null;
  const mayChange = visitor.role === 'operator' || (own?.role === 'member' && !isSuspended);
  if (changes && !mayChange) throw isSuspended ? new GatewayError('tenant_suspended') : readsOnly();
  return { tenant, mayChange };
}

function readsOnly(): GatewayError {
  return new GatewayError('forbidden', { message: 'Your role may read this and change nothing.' });
}

/** Where a second factor is set up. */
export const setUpPath = '/account/second-factor';

/** What the forms of a page hold: what was typed, and what is wrong with it, by field. */
export type FormState = { values: ReadonlyMap<string, string>; problems: Readonly<Record<string, string>> };

export const emptyForm: FormState = { values: new Map(), problems: {} };

/** The page of a form that was refused. */
export function refused(form: FormState, page: VNode, status = 400): PageAnswer {
  return { page, form, status };
}

/** What was wrong with a form; other errors are rethrown. `field` gets an error that names none. */
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
