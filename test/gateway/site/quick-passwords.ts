/**
 * Imported for its effect: hashes of passwords are made quickly in this process, for one takes a tenth of a second of CPU, and tests
 * sign in hundreds of times. Where less than the full cost is asked for it fails; a gateway in a process of its own pays it.
 */
import crypto, { type ScryptOptions } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

type Scrypt = (
  ...given: [string, string, number, ScryptOptions, (error: Error | null, key: Buffer) => void]
) => void;

const { scrypt } = crypto as { scrypt: Scrypt };
const quick: Scrypt = (password, salt, length, options, done) => {
  const { N = 0, r = 0 } = options;
  if (N < 16_384 || r < 16) throw new Error(`a password is hashed at the cost of N ${N} and r ${r}`);
  scrypt(password, salt, length, { ...options, N: 2 }, done);
};
Object.assign(crypto, { scrypt: quick });
syncBuiltinESMExports();
