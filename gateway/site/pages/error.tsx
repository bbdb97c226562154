import type { ErrorCode, GatewayError } from '../../errors.js';
import type { PageAnswer } from '../page.js';

const titles: Partial<Record<number, string>> = {
  401: 'Please sign in',
  403: 'Not allowed',
  404: 'Not found',
  409: 'Sent already',
  429: 'Too many tries',
  502: 'The identity provider did not answer',
  503: 'Not available just now',
};

/** Where the table's message speaks to a program and not to somebody at this page. */
const messages: Partial<Record<ErrorCode, string>> = {
  internal: 'This is a fault of the site, not of what you did.',
  keys_unavailable:
    'The database does not answer. Keys in use go on working meanwhile; try again in a moment.',
};

/** Where it is worth going on from: only a provider's way in depends on another server. */
function next({ status, code }: GatewayError): [href: string, text: string] {
  return status === 401 || code === 'upstream_failed' ? ['/sign-in', 'Sign in'] : ['/', 'Go to the start'];
}

/** What went wrong, as a page that leads on. */
export function errorPage(error: GatewayError, requestId: string): PageAnswer {
  const title = titles[error.status] ?? (error.status < 500 ? 'That did not work' : 'Something broke');
  const [href, text] = next(error);
  return {
    title,
    status: error.status,
    body: (
      <section class="narrow">
        <h1>{title}</h1>
        <p>{messages[error.code] ?? error.message}</p>
        {error.details && (
          <ul>
            {error.details.map(({ field, problem }) => (
              <li key={field}>{`${field} ${problem}`}</li>
            ))}
          </ul>
        )}
        <p>
          <a class="button" href={href}>
            {text}
          </a>
        </p>
        <p class="quiet">Request {requestId}</p>
      </section>
    ),
  };
}
