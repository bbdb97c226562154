import type { RouterContext } from '@koa/router';
import type { Middleware } from 'koa';
import type { Session } from './accounts/account.js';
import type { Rights } from './accounts/people.js';
import type { Program } from './accounts/tokens.js';

/** Somebody who has signed in, and what they may enter; `mustSetUp` where they first need a second factor. */
export type SignedIn = Session & Rights & { mustSetUp: boolean };

/** Who a request is from. */
export type Visitor = SignedIn | undefined;

/** What the stages of one request hand on. */
export interface SiteState {
  requestId: string;
  answers: 'pages' | 'json';
  visitor: Visitor;
  /** Of the JSON API: who calls by a token. */
  program?: Program;
  /** What a form on this page has to carry. */
  formToken: string;
  /** Set where the body of the answer is one that everybody gets: a file of the pages. */
  sharedBody?: true;
  /** For the log: the route's pattern, as a path may hold an invitation's token. */
  route: string;
  /** For the log: the tenant's name, the error's code and its internal cause. */
  tenant?: string;
  code?: string;
  fault?: unknown;
}

export type SiteContext = RouterContext<SiteState>;
export type SiteStage = Middleware<SiteState, SiteContext>;
