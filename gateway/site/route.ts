import type { Admitted, Asked, Door } from './doors.js';
import type { PageAnswer, PageRequest, Redirect } from './page.js';

/** One page or form of the site. */
export interface PageRoute {
  method: 'GET' | 'POST';
  /** With `:name` for its variable parts. */
  path: string;
  access: Admitted;
  /** A form whose answer shows a secret: sent a second time, by a reload, it does nothing. */
  once: boolean;
  /** Lets the visitor in, or rejects; what it resolves to answers the request. */
  open: (asked: Asked) => Promise<(request: PageRequest) => Promise<PageAnswer | Redirect>>;
}

type Run<Entered> = (call: PageRequest & Entered) => Promise<PageAnswer | Redirect>;

/**
 * A page: who may have it, where it lies and what it shows. What the door makes sure of is what the page is given, so that none
 * has to ask whether there is a visitor or a tenant.
 */
export function get<Entered, Path extends string>(
  door: Door<Entered, Path>,
  path: NoInfer<Path>,
  run: Run<Entered>,
): PageRoute {
  return route('GET', door, path, run, false);
}

/** What a form does. */
export function post<Entered, Path extends string>(
  door: Door<Entered, Path>,
  path: NoInfer<Path>,
  run: Run<Entered>,
): PageRoute {
  return route('POST', door, path, run, false);
}

/** What a form does whose answer shows a secret. */
export function postOnce<Entered, Path extends string>(
  door: Door<Entered, Path>,
  path: NoInfer<Path>,
  run: Run<Entered>,
): PageRoute {
  return route('POST', door, path, run, true);
}

function route<Entered>(
  method: PageRoute['method'],
  { access, enter }: Door<Entered>,
  path: string,
  run: Run<Entered>,
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
