import type { Image } from '../../pool/image/engine.js';

/** A file that the caller uploads in a multipart field of its name, or names by a url in a parameter of that name. */
export interface FileField {
  /** `image`: a picture, opened; `bytes`: any file as it came. */
  readonly kind: 'image' | 'bytes';
  /** Media types that are taken, such as `application/pdf` or `text/*`; any where this is missing. */
  readonly types?: readonly `${string}/${string}`[];
  readonly required?: boolean;
  /** Bytes at most, where that is less than the gateway takes. */
  readonly maxBytes?: number;
  readonly description?: string;
}

export type FileFields = { readonly [name: string]: FileField };

/** A file of kind `bytes` as a handler gets it. */
export interface FileBytes {
  bytes: Uint8Array;
  /** Media type, as the caller or the server that it came from said. */
  type: string;
  /** The name that it was uploaded by. */
  name?: string;
}

/** `context.files`: what is not required may be missing. */
export type FilesOf<Files> = keyof Files extends never
  ? Record<never, never>
  : {
      readonly [Name in keyof Files]:
        | FileOf<Files[Name]>
        | (Files[Name] extends { required: true } ? never : undefined);
    };
type FileOf<Field> = Field extends { kind: 'image' }
  ? Image
  : Field extends { kind: 'bytes' }
    ? FileBytes
    : Image | FileBytes;
