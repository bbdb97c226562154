import type { GatewayError } from '../../errors.js';
import type { PageAnswer } from '../page.js';

const titles: Partial<Record<number, string>> = {
  401: 'Please sign in',
  403: 'Not allowed',
  404: 'Not found',
  409: 'Sent already',
  429: 'Too many tries',
  503: 'Not available just now',
};

/** What went wrong, as a page that leads on. */
export function errorPage(error: GatewayError, requestId: string): PageAnswer {
  const title = titles[error.status] ?? (error.status < 500 ? 'That did not work' : 'Something broke');
  return {
    title,
    status: error.status,
    body: (
      <section class="narrow">
        <h1>{title}</h1>
        <p>
          {error.code === 'internal' ? 'This is a fault of the site, not of what you did.' : error.message}
        </p>
        {error.details && (
          <ul>
            {error.details.map(({ field, problem }) => (
              <li key={field}>{`${field} ${problem}`}</li>
            ))}
          </ul>
        )}
        <p>
          <a class="button" href={error.status === 401 ? '/sign-in' : '/'}>
            {error.status === 401 ? 'Sign in' : 'Go to the start'}
          </a>
        </p>
        <p class="quiet">Request {requestId}</p>
      </section>
    ),
  };
}
