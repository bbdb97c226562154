import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { snippets } from '../../../gateway/signing/snippets.js';

/** What a snippet is given. */
export interface Call {
  address: string;
  key_id: string;
  secret: string;
  expires: number;
}

interface Runner {
  /** The command that runs a program, and Debian's package of it. */
  command: string;
  debian: string;
  /** What stands before the program's file. */
  args: readonly string[];
  /** What says which version there is. */
  version: string;
  /** A program beside the snippet: calls as JSON on its standard input, their urls as JSON on its standard output. */
  batch: string;
}

/** By the ending of a snippet's file. */
const runners: Record<string, Runner> = {
  mjs: {
    command: process.execPath,
    debian: 'nodejs',
    args: [],
    version: '--version',
    batch: `import { readFileSync } from 'node:fs';
import { signUrl } from './sign.mjs';
const calls = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify(calls.map((c) => signUrl(c.address, c.key_id, c.secret, c.expires))));`,
  },
  py: {
    command: 'python3',
    debian: 'python3',
    args: ['-B', '-W', 'error'],
    version: '--version',
    batch: `import json, sys
from sign import sign_url
calls = json.load(sys.stdin.buffer)
print(json.dumps([sign_url(c["address"], c["key_id"], c["secret"], c["expires"]) for c in calls]))`,
  },
  php: {
    command: 'php',
    debian: 'php-cli',
    args: ['-d', 'error_reporting=-1', '-d', 'display_errors=stderr'],
    version: '--version',
    batch: `<?php
require __DIR__ . '/sign.php';
$calls = json_decode(file_get_contents('php://stdin'), true, 512, JSON_THROW_ON_ERROR);
echo json_encode(array_map(fn ($c) => sign_url($c['address'], $c['key_id'], $c['secret'], $c['expires']), $calls));`,
  },
  go: {
    command: 'go',
    debian: 'golang-go',
    args: ['run', 'sign.go'],
    version: 'version',
    batch: `package main

import (
	"encoding/json"
	"os"
)

func main() {
	var calls []struct {
		Address, Secret string
		KeyID           string \`json:"key_id"\`
		Expires         int64
	}
	if err := json.NewDecoder(os.Stdin).Decode(&calls); err != nil {
		panic(err)
	}
	urls := []string{}
	for _, c := range calls {
		signed, err := SignURL(c.Address, c.KeyID, c.Secret, c.Expires)
		if err != nil {
			panic(err)
		}
		urls = append(urls, signed)
	}
	if err := json.NewEncoder(os.Stdout).Encode(urls); err != nil {
		panic(err)
	}
}`,
  },
  rb: {
    command: 'ruby',
    debian: 'ruby',
    args: ['-w'],
    version: '--version',
    batch: `require "json"
require_relative "sign"
puts JSON.parse(STDIN.read.force_encoding("UTF-8")).map { |c| sign_url(c["address"], c["key_id"], c["secret"], c["expires"]) }.to_json`,
  },
};

/** A snippet and the language that runs it. */
export interface Program {
  language: string;
  /** What is missing where the language is not installed. */
  missing(): string | undefined;
  /** The signed urls of many calls, in one process. */
  signAll(calls: readonly Call[]): string[];
  /** What a program prints that lies beside the snippet. */
  print(program: string, env: Record<string, string>): string;
}

export const programs: readonly Program[] = snippets().map(({ language, file, code }) => {
  const ending = file.slice(file.lastIndexOf('.') + 1);
  const { command, debian, args, version, batch } = runners[ending] as Runner;

  function run(program: string, input: string, env: Record<string, string> = {}): string {
    const folder = mkdtempSync(join(tmpdir(), 'snippet-'));
    try {
      writeFileSync(join(folder, file), code);
      writeFileSync(join(folder, `main.${ending}`), program);
      const { status, stdout, stderr, error } = spawnSync(command, [...args, `main.${ending}`], {
        cwd: folder,
        input,
        // Nothing is to be fetched, and no settings of this machine's owner count.
        env: { ...process.env, GOPROXY: 'off', GOTOOLCHAIN: 'local', GOFLAGS: '', GOWORK: 'off', ...env },
        maxBuffer: 64 * 1024 * 1024,
        encoding: 'utf8',
      });
      if (error) throw error;
      // A warning about the snippet is a mistake of it; others are this machine's.
      if (status !== 0 || stderr.includes(file))
        throw new Error(`${language} ends with ${status}: ${stderr}`);
      return stdout;
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  return {
    language,
    missing: () =>
      spawnSync(command, [version]).status === 0 ? undefined : `${command} (Debian's ${debian})`,
    signAll: (calls) => JSON.parse(run(batch, JSON.stringify(calls))) as string[],
    print: (program, env) => run(program, '', env).trim(),
  };
});
