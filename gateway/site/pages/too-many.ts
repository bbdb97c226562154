/** What somebody is told who has tried too often, with the seconds to wait. */
export function tooMany(seconds: number): string {
  const [count, unit] =
    seconds <= 3600 ? [Math.ceil(seconds / 60), 'minute'] : [Math.ceil(seconds / 3600), 'hour'];
  return `Too many tries. Wait ${count} ${unit}${count > 1 ? 's' : ''}, then try again.`;
}
