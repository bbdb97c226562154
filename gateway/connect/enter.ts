import { GatewayError } from '../errors.js';
import { isTenantName } from '../keys/checks.js';
import type { KeyStore } from '../keys/store.js';
import type { Access } from './page.js';
import type { SiteStage, Visitor } from './state.js';

/** Lets a visitor on to a page, or sends them to sign in, or refuses. Notes the tenant that the path names. */
export function enter(access: Access, store: Pick<KeyStore, 'tenant'>): SiteStage {
  return async function enter(ctx, next) {
    const { visitor } = ctx.state;
    if (access === 'anyone') return next();
    if (!visitor) {
      if (ctx.method === 'POST') throw new GatewayError('unauthorized', { message: 'Sign in first.' });
      ctx.redirect(`/sign-in?next=${encodeURIComponent(ctx.url)}`);
      ctx.status = 303;
      return;
    }
    if (access === 'operator' && !visitor.operator) {
      throw new GatewayError('forbidden', { message: 'Only an operator of this gateway may see this page.' });
    }
    const name = ctx.params.tenant;
    if (name !== undefined) {
      const tenant = isTenantName(name) ? await store.tenant(name) : undefined;
      // The same for a tenant that is somebody else's and one that is not there: who asks learns of neither.
      if (!tenant || !mayEnter(visitor, tenant.id)) throw new GatewayError('not_found');
      ctx.state.tenant = tenant;
    }
    await next();
  };
}

function mayEnter(visitor: NonNullable<Visitor>, tenantId: string): boolean {
  return visitor.operator || visitor.tenants.some(({ id }) => id === tenantId);
}
