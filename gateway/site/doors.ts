import { GatewayError } from '../errors.js';
import { isTenantName } from '../keys/checks.js';
import type { Tenant } from '../keys/model.js';
import type { KeyStore } from '../keys/store.js';
import type { SignedIn, Visitor } from './state.js';

/**
 * Who may have a route. `anyone`; a signed-in `user`; an `operator`; `tenant`: an operator, or a member of the tenant in
 * the path (`:tenant`), which for everybody else does not exist.
 */
export type Admitted = 'anyone' | 'user' | 'operator' | 'tenant';

/** Who asks, and for which parts of the path. */
export interface Asked {
  visitor: Visitor;
  params: Record<string, string>;
  store: Pick<KeyStore, 'tenant'>;
}

/** A rule of who is let in to a page, and what the page then knows for certain. */
export interface Door<Entered, Path extends string = string> {
  access: Admitted;
  /** Rejects where this visitor is not let in. */
  enter: (asked: Asked) => Promise<Entered>;
  /** Of the type alone: the paths that have the parts that the rule looks at. */
  path?: Path;
}

/** What a page knows that anyone may have: who is there, if anybody has signed in. */
export interface ByAnyone {
  visitor: Visitor;
}

/** What a page knows that only who is signed in may have. */
export interface ByUser {
  visitor: SignedIn;
}

/** What a page below `/tenants/:tenant` knows. */
export interface OfTenant extends ByUser {
  tenant: Tenant;
}

type TenantPath = `/tenants/:tenant${string}`;

export const anyone: Door<ByAnyone> = {
  access: 'anyone',
  enter: async ({ visitor }) => ({ visitor }),
};

export const user: Door<ByUser> = {
  access: 'user',
  enter: async ({ visitor }) => ({ visitor: signedIn(visitor) }),
};

export const operator: Door<ByUser> = {
  access: 'operator',
  enter: async ({ visitor }) => ({ visitor: requireOperator(visitor) }),
};

export const tenant: Door<OfTenant, TenantPath> = {
  access: 'tenant',
  enter: async (asked) => findTenant(asked, signedIn(asked.visitor)),
};

/** A page of one tenant that is not for its members. */
export const operatorOfTenant: Door<OfTenant, TenantPath> = {
  access: 'operator',
  enter: async (asked) => findTenant(asked, requireOperator(asked.visitor)),
};

function signedIn(visitor: Visitor): SignedIn {
  if (!visitor) throw new GatewayError('unauthorized', { message: 'Sign in first.' });
  return visitor;
}

function requireOperator(visitor: Visitor): SignedIn {
  const user = signedIn(visitor);
  if (user.operator) return user;
  throw new GatewayError('forbidden', { message: 'Only an operator of this gateway may see this page.' });
}

async function findTenant({ params, store }: Asked, visitor: SignedIn): Promise<OfTenant> {
  const tenant = isTenantName(params.tenant) ? await store.tenant(params.tenant) : undefined;
  // The same for a tenant that is somebody else's and one that is not there: whoever asks learns of neither.
  if (!tenant || !mayEnter(visitor, tenant.id)) throw new GatewayError('not_found');
  return { visitor, tenant };
}

function mayEnter(visitor: SignedIn, tenantId: string): boolean {
  return visitor.operator || visitor.tenants.some(({ id }) => id === tenantId);
}
