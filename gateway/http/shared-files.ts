/** They are served as they lie in the source tree; the compiler leaves them there. */
const folder = new URL('gateway/http/assets/', import.meta.resolve('helper-gateway/package.json'));

/** What the pages of both ports bring along: the look's foundation, and the icon. */
export const sharedFiles = {
  'base.css': new URL('base.css', folder),
  'icon.svg': new URL('icon.svg', folder),
};

export type SharedFile = keyof typeof sharedFiles;
