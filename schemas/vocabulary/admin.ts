import type { Ajv } from 'ajv';
import { dayKeyword } from './day.js';
import { futureKeyword } from './future.js';
import { lineKeyword } from './line.js';
import { scopesKeyword } from './scopes.js';
import { addKeyword, createVocabulary } from './vocabulary.js';

export interface AdminVocabularyOptions {
  /** What `scopes: true` takes; asked at each judgement, for helpers may come and go. */
  knownScopes: () => readonly string[];
  /** Wall clock, ms, for `future: true`. */
  now: () => number;
}

/**
 * The validator for what the administration of keys takes: the helpers' vocabulary, and with it `line`, `day`, `future` and
 * `scopes`. `form` says what is allowed where words say it better than the rules, such as a pattern; it judges nothing. Made when it
 * is first asked for: a start judges nothing by it.
 */
export function createAdminVocabulary(options: AdminVocabularyOptions): () => Ajv {
  let made: Ajv | undefined;
  return () => {
    made ??= make(options);
    return made;
  };
}

function make({ knownScopes, now }: AdminVocabularyOptions): Ajv {
  const ajv = createVocabulary({ own: true });
  for (const keyword of [lineKeyword, dayKeyword, futureKeyword(now), scopesKeyword(knownScopes)]) {
    addKeyword(ajv, keyword);
  }
  ajv.addKeyword({ keyword: 'form', schemaType: 'string', valid: true });
  return ajv;
}
