import { didYouMean } from '../../schemas/nearest.js';
import { quote } from '../../schemas/quote.js';
import { pathsOf } from './paths.js';

/** What is wrong with a path at which none of these helpers is served; it reads on from the name of what holds the path. */
export function noHelperAt(path: string, ids: readonly string[]): string {
  return `has the path ${quote(path)}, which is no helper's${didYouMean(path, ids.flatMap(pathsOf))}`;
}
