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

type Run<Call> = (call: Call) => Promise<Answer>;

type TenantPath = `/tenants/:tenant${string}`;

/** Makes routes, by who may have them. What the check makes sure of is in the call's type, so that no page checks it again. */
function routesOf(method: PageRoute['method'], once: boolean) {
  const route = { method, once };
  return {
    anyone(path: string, run: Run<PageCall>): PageRoute {
      return { ...route, path, access: 'anyone', enter: async (call) => call, run };
    },
    user(path: string, run: Run<UserCall>): PageRoute {
      return { ...route, path, access: 'user', enter: async (call) => requireSignedIn(call), run };
    },
    operator(path: string, run: Run<UserCall>): PageRoute {
      return { ...route, path, access: 'operator', enter: async (call) => requireOperator(call), run };
    },
    tenant(path: TenantPath, run: Run<TenantCall>): PageRoute {
      return {
        ...route,
        path,
        access: 'tenant',
        enter: async (call) => findTenant(requireSignedIn(call)),
        run,
      };
    },
    /** A page of one tenant that is not for its members. */
    tenantOperator(path: TenantPath, run: Run<TenantCall>): PageRoute {
      return {
        ...route,
        path,
        access: 'operator',
        enter: async (call) => findTenant(requireOperator(call)),
        run,
      };
    },
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
