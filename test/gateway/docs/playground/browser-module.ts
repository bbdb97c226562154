/** A module of the playground's pages, which the browser reads as it lies in the sources. */
export function browserModule<T>(name: string): Promise<T> {
  return import(
    new URL(`../../../../../gateway/docs/playground/assets/${name}`, import.meta.url).href
  ) as Promise<T>;
}
