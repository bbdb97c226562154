import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect } from 'chai';
import { codesIn, readText, root } from './readme.js';

const parts = ['.deploy', '.github', 'gateway', 'plugins', 'pool', 'schemas', 'test'];
const pages = ['README.md', ...parts.flatMap(pagesBelow)];

function pagesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((name) => name.endsWith('.md'));
}

/** A page without what is not its own words: blocks of code, where brackets are no links. */
function prose(page: string): string {
  return readText(page).replace(/^ *```[\s\S]*?^ *```$/gm, '');
}

function linksOf(page: string): string[] {
  return [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1] as string)
    .filter((link) => !/^https?:/.test(link));
}

/** A heading's name in links, as GitHub makes it. */
function anchorsOf(page: string): string[] {
  return [...prose(page).matchAll(/^#+ (.+)$/gm)].map((match) =>
    (match[1] as string)
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function isSound(page: string, link: string): boolean {
  const [file = '', anchor = ''] = link.split('#');
  const path = file === '' ? page : relative(root, join(root, dirname(page), file));
  return existsSync(join(root, path)) && (anchor === '' || anchorsOf(path).includes(anchor));
}

describe('every page', () => {
  it('has links that lead somewhere', () => {
    const dead = pages.flatMap((page) =>
      linksOf(page)
        .filter((link) => !isSound(page, link))
        .map((link) => `${page}: ${link}`),
    );
    expect(dead).to.deep.equal([]);
  });

  it('names files that exist', () => {
    const named = new RegExp(`^(?:${parts.join('|')})/[\\w./-]+$`);
    const gone = pages.flatMap((page) =>
      codesIn(prose(page).replaceAll('\n', ' '))
        .filter((code) => named.test(code) && !existsSync(join(root, code)))
        .map((code) => `${page}: ${code}`),
    );
    expect(gone).to.deep.equal([]);
  });
});
