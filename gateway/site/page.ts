import type { ComponentChild } from 'preact';
import { GatewayError } from '../errors.js';
import type { Tenant } from '../keys/model.js';
import { isTenantName } from '../keys/schemas.js';
import type { KeyStore } from '../keys/store.js';
import type { Site } from './site.js';
import type { SignedIn, Visitor } from './state.js';

/** What every page and form is told of a request, whoever sent it. */
export interface PageRequest {
  site: Site;
  /** Parts of the path by name. */
  params: Record<string, string>;
  query: ReadonlyMap<string, string>;
  /** The query as it came. */
  search: string;
  /** Fields of a form; empty for a GET. */
  form: ReadonlyMap<string, string>;
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
  /** The one other origin that this page may show pictures of. */
  picturesOf?: string | undefined;
  cookies?: string[];
}

export interface Redirect {
  redirect: string;
  cookies?: string[];
}

/** What a form holds when it is shown again: what was typed, and what is wrong with it, by field. */
export interface FormState {
  values: ReadonlyMap<string, string>;
  problems: Readonly<Record<string, string>>;
}

export const emptyForm: FormState = { values: new Map(), problems: {} };

/** Part of a list, as the query asks for it; where the query is none that a page of this site leads to: `not_found`. */
export async function readList<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'invalid_input') throw new GatewayError('not_found');
    throw error;
  }
}

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

/** One page or form of the site. */
export interface PageRoute {
  method: 'GET' | 'POST';
  /** With `:name` for its variable parts. */
  path: string;
  access: Access;
  /** A form whose answer shows a secret: sent a second time, by a reload, it does nothing. */
  once: boolean;
  /** Lets the visitor in, or rejects; what it resolves to answers the request. */
  open: (asked: GuardInput) => Promise<(request: PageRequest) => Promise<PageAnswer | Redirect>>;
}

type RunPage<Entered> = (call: PageRequest & Entered) => Promise<PageAnswer | Redirect>;

/**
 * A page: who may have it, where it lies and what it shows. What the door makes sure of is what the page is given, so that none
 * has to ask whether there is a visitor or a tenant.
 */
export function getRoute<Entered, Path extends string>(
  door: Guard<Entered, Path>,
  path: NoInfer<Path>,
  run: RunPage<Entered>,
): PageRoute {
  return createRoute('GET', door, path, run, false);
}

/** What a form does. */
export function postRoute<Entered, Path extends string>(
  door: Guard<Entered, Path>,
  path: NoInfer<Path>,
  run: RunPage<Entered>,
): PageRoute {
  return createRoute('POST', door, path, run, false);
}

/** What a form does whose answer shows a secret. */
export function postOnceRoute<Entered, Path extends string>(
  door: Guard<Entered, Path>,
  path: NoInfer<Path>,
  run: RunPage<Entered>,
): PageRoute {
  return createRoute('POST', door, path, run, true);
}

function createRoute<Entered>(
  method: PageRoute['method'],
  { access, enter }: Guard<Entered>,
  path: string,
  run: RunPage<Entered>,
  once: boolean,
): PageRoute {
  return {
    method,
    path,
    access,
    once,
    async open(asked) {
      const entered = await enter(asked);
      return (request) => run({ ...request, ...entered });
    },
  };
}

/**
 * Who may have a route. `anyone`; a signed-in `user`; an `operator`; `tenant`: an operator, or a member of the tenant in
 * the path (`:tenant`), which for everybody else does not exist.
 */
export type Access = 'anyone' | 'user' | 'operator' | 'tenant';

/** Who asks, and for which parts of the path. */
interface GuardInput {
  visitor: Visitor;
  params: Record<string, string>;
  store: Pick<KeyStore, 'tenant'>;
}

/** A rule of who is let in to a page, and what the page then knows for certain. */
interface Guard<Entered, Path extends string = string> {
  access: Access;
  /** Rejects where this visitor is not let in. */
  enter: (asked: GuardInput) => Promise<Entered>;
  /** Of the type alone: the paths that have the parts that the rule looks at. */
  path?: Path;
}

/** What a page knows that anyone may have: who is there, if anybody has signed in. */
export interface WithVisitor {
  visitor: Visitor;
}

/** What a page knows that only who is signed in may have. */
export interface WithUser {
  visitor: SignedIn;
}

/** What a page below `/tenants/:tenant` knows. */
export interface WithTenant extends WithUser {
  tenant: Tenant;
}

type TenantPath = `/tenants/:tenant${string}`;

export const forAnyone: Guard<WithVisitor> = {
  access: 'anyone',
  enter: async ({ visitor }) => ({ visitor }),
};

export const forUser: Guard<WithUser> = {
  access: 'user',
  enter: async ({ visitor }) => ({ visitor: requireSignedIn(visitor) }),
};

export const forOperator: Guard<WithUser> = {
  access: 'operator',
  enter: async ({ visitor }) => ({ visitor: requireOperator(visitor) }),
};

export const forTenant: Guard<WithTenant, TenantPath> = {
  access: 'tenant',
  enter: async (asked) => findTenant(asked, requireSignedIn(asked.visitor)),
};

/** A page of one tenant that is not for its members. */
export const forTenantOperator: Guard<WithTenant, TenantPath> = {
  access: 'operator',
  enter: async (asked) => findTenant(asked, requireOperator(asked.visitor)),
};

function requireSignedIn(visitor: Visitor): SignedIn {
  if (!visitor) throw new GatewayError('unauthorized', { message: 'Sign in first.' });
  return visitor;
}

function requireOperator(visitor: Visitor): SignedIn {
  const user = requireSignedIn(visitor);
  if (user.operator) return user;
  throw new GatewayError('forbidden', { message: 'Only an operator of this gateway may see this page.' });
}

async function findTenant({ params, store }: GuardInput, visitor: SignedIn): Promise<WithTenant> {
  const tenant = isTenantName(params.tenant) ? await store.tenant(params.tenant) : undefined;
  // The same for a tenant that is somebody else's and one that is not there: whoever asks learns of neither.
  if (!tenant || !mayEnter(visitor, tenant.id)) throw new GatewayError('not_found');
  return { visitor, tenant };
}

function mayEnter(visitor: SignedIn, tenantId: string): boolean {
  return visitor.operator || visitor.tenants.some(({ id }) => id === tenantId);
}
