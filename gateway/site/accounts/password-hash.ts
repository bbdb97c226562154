/** better-auth's hashes of passwords, which take long to load and are seldom asked for. */
const loadCrypto = () => import('better-auth/crypto');

export async function hashPassword(password: string): Promise<string> {
  return (await loadCrypto()).hashPassword(password);
}

export async function verifyPassword(given: { hash: string; password: string }): Promise<boolean> {
  return (await loadCrypto()).verifyPassword(given);
}
