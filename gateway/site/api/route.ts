import type { Fields } from '../../../schemas/fields.js';
import type { Site } from '../site.js';

/** One operation of the JSON API: what it does, and all that its documentation needs. */
export interface ApiRoute<Query = object, Body = object> {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  /** `operationId`. */
  name: string;
  summary: string;
  /** Left out, it takes no parameters. */
  query?: Fields<Query>;
  /** Left out, it takes no fields. */
  body?: Fields<Body>;
  /** JSON Schema of `data`. */
  data: object;
  /** The list in `data`, and its columns, for those who want it as CSV. */
  csv?: { list: string; columns(query: Query): readonly string[] };
  /** Open to a signed-in member of the tenant `:name` too; the others are the operator token's alone. */
  forMembers?: true;
  /** Changes nothing, though it is no GET: open to support tokens too. */
  reads?: true;
  /** It may answer 201. */
  creates?: true;
  run(call: ApiCall<Query, Body>): Promise<object>;
}

export interface ApiCall<Query = object, Body = object> {
  site: Site;
  params: Record<string, string>;
  query: Query;
  body: Body;
  /** How the audit log names who calls. */
  actor: string;
  /** Whether the caller's role may change things; to others no secret is shown. */
  mayChange: boolean;
  /** Its status is 200 unless the operation sets another. */
  answer: { status: number };
}

/** Keeps the types of one operation together; `at` is its method and path. */
export function defineRoute<Query extends object = object, Body extends object = object>(
  at: `${ApiRoute['method']} ${string}`,
  name: string,
  operation: Omit<ApiRoute<Query, Body>, 'method' | 'path' | 'name'>,
): ApiRoute {
  const [method, path] = at.split(' ') as [ApiRoute['method'], string];
  return { method, path, name, ...operation } as ApiRoute;
}
