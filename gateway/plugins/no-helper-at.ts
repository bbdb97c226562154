import { didYouMean } from '../../schemas/nearest.js';
import { quote } from '../../schemas/quote.js';
import { pathsOf } from './paths.js';

/** The problem of a url whose path is no helper's, to follow the field's name. */
export function noHelperAt(path: string, ids: readonly string[]): string {
  return `has the path ${quote(path)}, which is no helper's${didYouMean(path, ids.flatMap(pathsOf))}`;
}
