import type { Image } from '../../pool/image/engine.js';

/** A file that the caller uploads in a multipart field of its name, or names by a url in a parameter, of the same name or another. */
export interface FileField {
  /** `image`: a picture, opened; `bytes`: any file as it came. */
  readonly kind: 'image' | 'bytes';
  /** The parameter that holds the url, such as `mark_url`; the file's own name where this is missing. */
  readonly parameter?: string;
  /**
   * A parameter of `input` in whose place the file may come: exactly one of the two has to, but in a dry run. The parameter is
   * not among the `required`, and has no `default`.
   */
  readonly insteadOf?: string;
  /** Parameters of `input` that mean nothing beside the file: a call that brings both is refused. */
  readonly notWith?: readonly string[];
  /** Parameters of `input` that mean nothing without the file. */
  readonly options?: readonly string[];
  /** Media types that are taken, such as `application/pdf` or `text/*`; any where this is missing. */
  readonly types?: readonly `${string}/${string}`[];
  readonly required?: boolean;
  /** Bytes at most, where that is less than the gateway takes. */
  readonly maxBytes?: number;
  readonly description?: string;
}

export type FileFields = { readonly [name: string]: FileField };

/** The parameters that hold urls of files, by their names: there where a file came by its url. */
export type UrlsOf<Files> = keyof Files extends never
  ? unknown
  : { [Name in keyof Files as UrlName<Files[Name], Name>]?: string };
type UrlName<Field, Name> = Field extends { readonly parameter: infer Parameter extends string }
  ? Parameter
  : Name;

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
