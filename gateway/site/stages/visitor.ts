import type { People } from '../accounts/people.js';
import type { SignIn } from '../accounts/sign-in.js';
import type { SiteStage } from '../state.js';

/** Finds out who is asking, by the session's cookie. Rights are read each time: whoever was removed is out at once. */
export function findVisitor(signIn: SignIn, people: People): SiteStage {
  return async function findVisitor(ctx, next) {
    const found = await signIn.session(ctx.get('cookie'));
    if (found) {
      ctx.append('set-cookie', found.cookies);
      ctx.state.visitor = { ...found.session, ...(await people.rights(found.session.user.id)) };
    }
    await next();
  };
}
