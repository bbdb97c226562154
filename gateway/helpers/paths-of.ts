import { didYouMean } from '../../schemas/nearest.js';
import { quote } from '../../schemas/quote.js';

/** Paths of a helper: its own, and `/img/…` for `/media/…`, as the specification writes it sometimes. */
export function pathsOf(id: string): string[] {
  return id.startsWith('media/') ? [`/${id}`, `/img/${id.slice('media/'.length)}`] : [`/${id}`];
}

/** Which of these helpers is served at a path. */
export function helperAt(path: string, ids: readonly string[]): string | undefined {
  return ids.find((id) => pathsOf(id).includes(path));
}

/** What is wrong with a path at which none of these helpers is served; it reads on from the name of what holds the path. */
export function noHelperAt(path: string, ids: readonly string[]): string {
  return `has the path ${quote(path)}, which is no helper's${didYouMean(path, ids.flatMap(pathsOf))}`;
}
