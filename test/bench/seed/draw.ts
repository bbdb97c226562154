import { crc32 } from 'node:zlib';
import { encodeBase62 } from '../../../gateway/keys/model.js';

/** Draws that are the same each time for the same seed number. */
export type Draw = ReturnType<typeof createDraw>;

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export function createDraw(seed: number) {
  let state = seed >>> 0;

  /** From 0 to below 1 (mulberry32). */
  function share(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  /** A whole number from `least` to `most`. */
  const whole = (least: number, most: number) => least + Math.floor(share() * (most - least + 1));
  const text = (length: number) => Array.from({ length }, () => base62[whole(0, 61)]).join('');

  return {
    share,
    whole,
    text,
    chance: (probability: number) => share() < probability,
    one: <T>(values: readonly T[]): T => values[whole(0, values.length - 1)] as T,
    /** So many of the values, each once, in any order. */
    some<T>(values: readonly T[], count: number): T[] {
      const ranked = values.map((value) => ({ value, rank: share() })).sort((a, b) => a.rank - b.rank);
      return ranked.slice(0, count).map(({ value }) => value);
    },
    /** Draws by weight. */
    weighted<T>(values: readonly T[], weightOf: (value: T) => number) {
      let total = 0;
      const ends = values.map((value) => {
        total += weightOf(value);
        return total;
      });
      const one = () => {
        const place = share() * total;
        return values[ends.findIndex((end) => place < end)];
      };
      return { total, one };
    },
    /** Around 1: half of them from 0.5 to 2, few far away. */
    spread: () => Math.exp((share() + share() + share() - 1.5) * 2),
    /** An API key with its checksum. */
    key(): string {
      const random = text(27);
      return `hg_${random}${encodeBase62(crc32(random), 6)}`;
    },
    uuid(): string {
      const digits = Array.from({ length: 32 }, () => whole(0, 15).toString(16)).join('');
      return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-a$4-$5');
    },
  };
}

const firstNames = [
  ...['Amara', 'Ben', 'Chloé', 'Dmitri', 'Elif', 'Farid', 'Grace', 'Hiro', 'Ines', 'Jonas', 'Karin', 'Leila'],
  ...['Mateo', 'Nadia', 'Oskar', 'Priya', 'Quentin', 'Rosa', 'Sven', 'Tomás', 'Uma', 'Viktor', 'Wen', 'Zoë'],
];
const lastNames = [
  ...[
    'Abara',
    'Bianchi',
    'Castillo',
    'Dubois',
    'Eriksen',
    'Fischer',
    'García',
    'Haddad',
    'Ivanova',
    'Jensen',
  ],
  ...['Kowalski', 'Lindgren', 'Moreau', 'Nakamura', 'Okafor', 'Petrov', 'Quispe', 'Rossi', 'Silva', 'Tanaka'],
];
const companyStarts = [
  ...['acorn', 'alder', 'amber', 'atlas', 'aurora', 'beacon', 'birch', 'blue-harbor', 'bright', 'cedar'],
  ...['cobalt', 'copper', 'coral', 'delta', 'echo', 'ember', 'evergreen', 'falcon', 'fern', 'foxglove'],
  ...['granite', 'harbor', 'helix', 'horizon', 'indigo', 'iron', 'juniper', 'kestrel', 'lantern', 'larch'],
  ...['maple', 'meridian', 'north-star', 'northwind', 'oak', 'orbit', 'osprey', 'pine', 'polar', 'prism'],
  ...['quartz', 'raven', 'river', 'saffron', 'silver', 'summit', 'tidal', 'umber', 'vertex', 'willow'],
];
const companyEnds = [
  ...[
    'analytics',
    'apparel',
    'bakery',
    'books',
    'clinic',
    'commerce',
    'dental',
    'design',
    'estates',
    'foods',
  ],
  ...['furniture', 'games', 'garden', 'health', 'homes', 'hotels', 'insurance', 'journal', 'labs', 'legal'],
  ...['logistics', 'media', 'motors', 'music', 'outdoors', 'photo', 'pharma', 'press', 'robotics', 'school'],
  ...['shoes', 'software', 'solar', 'sports', 'studio', 'supply', 'tickets', 'tools', 'travel', 'wines'],
];

/** So many names of tenants, each once: at most 2,000. */
export function drawCompanies({ some }: Draw, count: number): string[] {
  const all = companyStarts.flatMap((start) => companyEnds.map((end) => `${start}-${end}`));
  return some(all, count);
}

export function drawPerson({ one, whole }: Draw, domain: string) {
  const name = `${one(firstNames)} ${one(lastNames)}`;
  const plain = name.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().replace(' ', '.');
  return { name, email: `${plain}${whole(2, 999)}@${domain}` };
}

export const labels = [
  ...['Website', 'Shop front', 'Mobile app', 'iOS app', 'Android app', 'Newsletter', 'Nightly import', 'CMS'],
  ...[
    'Product pictures',
    'Marketing team',
    'Staging',
    'CI',
    'Data pipeline',
    'Partner feed',
    'Blog',
    'Intranet',
  ],
  ...[
    'Thumbnails',
    'Avatar upload',
    'Search index',
    'Support desk',
    'Zapier',
    'Print catalogue',
    'Analytics job',
  ],
];
