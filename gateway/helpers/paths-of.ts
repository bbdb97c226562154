/** Paths of a helper: its own, and `/img/…` for `/media/…`, as the specification writes it sometimes. */
export function pathsOf(id: string): string[] {
  return id.startsWith('media/') ? [`/${id}`, `/img/${id.slice('media/'.length)}`] : [`/${id}`];
}

/** Which of these helpers is served at a path. */
export function helperAt(path: string, ids: readonly string[]): string | undefined {
  return ids.find((id) => pathsOf(id).includes(path));
}
