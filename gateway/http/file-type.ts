import { lookup } from 'mime-types';

/** What is said of a file by those who do not know what it is. */
export const unknownType = 'application/octet-stream';

/** A file's media type: what its sender says, and where that is nothing, what its name says. curl knows hardly a name's ending. */
export function fileType(said: string, name: string | undefined): string {
  const isSaid = said !== '' && said.split(';', 1)[0]?.trim().toLowerCase() !== unknownType;
  return isSaid ? said : (name !== undefined && lookup(name)) || unknownType;
}
