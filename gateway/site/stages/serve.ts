import { parseUrlencoded } from '../../../schemas/input/urlencoded.js';
import { GatewayError } from '../../errors.js';
import type { PageRoute } from '../route.js';
import type { Site } from '../site.js';
import type { SiteStage } from '../state.js';
import { readGuardedForm } from './form-guard.js';
import { sendAnswer } from './send-answer.js';

const noForm: ReadonlyMap<string, string> = new Map();

/** Lets the visitor in to a route, or sends them to sign in, or refuses; runs it, and answers with its page or leads on. */
export function serve(route: PageRoute, site: Site): SiteStage {
  return async function serve(ctx) {
    const { visitor } = ctx.state;
    if (!visitor && route.access !== 'anyone' && ctx.method !== 'POST') {
      sendAnswer(ctx, site, { redirect: `/sign-in?next=${encodeURIComponent(ctx.url)}` });
      return;
    }
    const answerTo = await route.open({ visitor, params: ctx.params, store: site.store });
    ctx.state.tenant = ctx.params.tenant;
    const form = ctx.method === 'POST' ? await readGuardedForm(ctx, site) : noForm;
    const request = {
      site,
      params: ctx.params,
      query: parseUrlencoded(ctx.querystring).values,
      search: ctx.querystring,
      form,
      cookie: ctx.get('cookie'),
      address: ctx.ip,
    };
    const answer = await (route.once ? onlyOnce(site, form, () => answerTo(request)) : answerTo(request));
    sendAnswer(ctx, site, answer);
  };
}

/** Runs a form's work at its first sending. A form that was refused has done nothing, and may come again with this mark. */
async function onlyOnce<A extends object>(
  { once }: Pick<Site, 'once'>,
  form: ReadonlyMap<string, string>,
  work: () => Promise<A>,
): Promise<A> {
  const mark = form.get('_once') ?? '';
  if (mark === '' || !(await once.claim(mark))) {
    throw new GatewayError('exists', {
      message:
        'This form was sent before, and what it showed is shown once only. Nothing was done now. If the key or link was not copied, make a new one.',
    });
  }
  try {
    const answer = await work();
    if ('status' in answer) await once.release(mark);
    return answer;
  } catch (error) {
    await once.release(mark).catch(() => undefined);
    throw error;
  }
}
