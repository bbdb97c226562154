import { readFileSync } from 'node:fs';

/** How a url is signed in one language, with nothing but what comes with it. */
export interface Snippet {
  /** E.g. `Node.js`. */
  language: string;
  /** E.g. `sign.mjs`, which holds the function. */
  file: string;
  /** The file's text. */
  code: string;
  /**
   * A program that lies beside the file and prints a signed url. It reads the signing secret from the environment variable
   * `SIGNING_SECRET`: what is shown on pages and copied from there holds none. The address must be encoded, as `plainAddress` does.
   */
  call(address: string, keyId: string): string;
}

/** They lie in the source tree; the compiler leaves them there. */
const folder = new URL('gateway/signing/snippets/', import.meta.resolve('helper-gateway/package.json'));

const languages: readonly Omit<Snippet, 'code'>[] = [
  {
    language: 'Node.js',
    file: 'sign.mjs',
    call: (address, keyId) => `import { signUrl } from './sign.mjs';

// For a day, to a full hour: the url stays the same for an hour, so that caches can keep what it answers.
const expires = (Math.floor(Date.now() / 3_600_000) + 25) * 3600;
console.log(signUrl('${address}', '${keyId}', process.env.SIGNING_SECRET, expires));
`,
  },
  {
    language: 'Python',
    file: 'sign.py',
    call: (address, keyId) => `import os, time
from sign import sign_url

# For a day, to a full hour: the url stays the same for an hour, so that caches can keep what it answers.
expires = (int(time.time()) // 3600 + 25) * 3600
print(sign_url("${address}", "${keyId}", os.environ["SIGNING_SECRET"], expires))
`,
  },
  {
    language: 'PHP',
    file: 'sign.php',
    call: (address, keyId) => `<?php
require __DIR__ . '/sign.php';

// For a day, to a full hour: the url stays the same for an hour, so that caches can keep what it answers.
$expires = (intdiv(time(), 3600) + 25) * 3600;
echo sign_url('${address}', '${keyId}', getenv('SIGNING_SECRET'), $expires), "\\n";
`,
  },
  {
    language: 'Go',
    file: 'sign.go',
    call: (address, keyId) => `package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	// For a day, to a full hour: the url stays the same for an hour, so that caches can keep what it answers.
	expires := (time.Now().Unix()/3600 + 25) * 3600
	signed, err := SignURL("${address}", "${keyId}", os.Getenv("SIGNING_SECRET"), expires)
	if err != nil {
		panic(err)
	}
	fmt.Println(signed)
}
`,
  },
  {
    language: 'Ruby',
    file: 'sign.rb',
    call: (address, keyId) => `require_relative "sign"

# For a day, to a full hour: the url stays the same for an hour, so that caches can keep what it answers.
expires = (Time.now.to_i / 3600 + 25) * 3600
puts sign_url("${address}", "${keyId}", ENV.fetch("SIGNING_SECRET"), expires)
`,
  },
];

let loaded: readonly Snippet[] | undefined;

/** How a url is signed in five languages; the files are read when they are first asked for. */
export function snippets(): readonly Snippet[] {
  loaded ??= languages.map((each) => ({ ...each, code: readFileSync(new URL(each.file, folder), 'utf8') }));
  return loaded;
}
