import type { ComponentChild } from 'preact';
import { GatewayError } from '../errors.js';
import type { Site } from './site.js';

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
