export interface Part {
  name: string;
  value: Uint8Array | string;
  filename?: string;
  /** More lines of the part's head. */
  head?: string;
}

/** A multipart/form-data body with its type; `boundary` stands in both as it is given. */
export function multipart(parts: readonly Part[], boundary = 'b0undary'): { type: string; body: Buffer } {
  const pieces = parts.flatMap(({ name, value, filename, head = '' }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"\r\ncontent-type: image/jpeg`;
    return [
      Buffer.from(
        `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n${head}\r\n`,
        'latin1',
      ),
      Buffer.from(value as string),
      Buffer.from('\r\n'),
    ];
  });
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    body: Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]),
  };
}
