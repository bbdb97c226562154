import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { copied, inPlayground, press } from './in-playground.js';

const example = 'A square thumbnail with a frame';
const step = (page: Page, at: number) => page.locator('[data-step]').nth(at);
const button = (page: Page, at: number, act: string) =>
  step(page, at).getByRole('button', { name: `${act}: step ${at + 1}` });
const legends = (page: Page) => page.locator('[data-step] > legend').allTextContents();
const focused = (page: Page) =>
  page.evaluate('document.activeElement.getAttribute("aria-label") ?? document.activeElement.id');

async function add(page: Page, id: string): Promise<void> {
  await page.getByLabel('Next step').selectOption(id);
  await page.getByRole('button', { name: 'Add', exact: true }).press('Enter');
}

/** Sends; gives the steps in the body, which the browser reports only where it is no file. */
async function sent(page: Page): Promise<unknown> {
  await page.evaluate(`{
    const { fetch } = window;
    window.fetch = async (url, options) => {
      if (options?.body) window.sent = await new Response(options.body).text();
      return fetch(url, options);
    };
  }`);
  await press(page);
  const body = String(await page.evaluate('window.sent'));
  const text = /name="steps"\r\n\r\n(.*)\r\n/.exec(body)?.[1];
  return text === undefined ? JSON.parse(body).steps : JSON.parse(text);
}

describe('playground: the steps of a call', function () {
  this.timeout(60_000);
  const chromium = inPlayground();

  it('runs an example and shows it beside the source, and as a recipe with the steps that were sent', async () => {
    const page = await chromium.open('/?helper=pipeline');
    expect(await page.getByRole('heading', { name: 'Recipe' }).isVisible()).to.equal(false);
    await page.getByRole('button', { name: example }).press('Enter');
    await page.locator('[data-chosen]:visible').waitFor();
    expect(await legends(page)).to.deep.equal(['1. media/resize', '2. media/add-border']);
    const steps = await sent(page);
    const facts = await page.locator('.picture-facts').textContent();
    expect(facts).to.match(/Before640 × 420 px, JPEG.*After312 × 312 px, WEBP/);
    const recipe = JSON.parse(await copied(page.getByRole('button', { name: 'Copy recipe' })));
    expect(recipe).to.deep.equal({ summary: 'resize, add-border', steps, format: 'webp' });
    expect(steps).to.deep.equal([
      { use: 'media/resize', width: 300, height: 300, fit: 'cover' },
      { use: 'media/add-border', width: 6, color: 'white' },
    ]);
    expect(await page.locator('#snippet').textContent()).to.include(`'steps=${JSON.stringify(steps)}'`);
    const link = page.getByRole('link', { name: 'Make this a recipe' });
    const { pathname, searchParams } = new URL((await link.getAttribute('href')) ?? '');
    expect(pathname).to.equal('/recipes/new');
    expect(JSON.parse(searchParams.get('definition') ?? '')).to.deep.equal(recipe);
  });

  it('adds, moves and removes steps by keyboard, each with its own values', async () => {
    const page = await chromium.open('/?helper=pipeline');
    await add(page, 'media/resize');
    expect(await focused(page)).to.equal(await step(page, 0).getAttribute('id'));
    await step(page, 0).getByLabel('width').fill('50');
    await add(page, 'media/add-border');
    await step(page, 1).getByLabel('width').fill('3');
    await add(page, 'media/resize');
    await step(page, 2).getByLabel('height').fill('40');
    expect(await button(page, 2, 'Down').isDisabled()).to.equal(true);
    await button(page, 2, 'Up').press('Enter');
    expect(await focused(page)).to.equal('Up: step 2, media/resize');
    await page.keyboard.press('Enter');
    // It is the first, and can go no higher.
    expect(await focused(page)).to.equal('Down: step 1, media/resize');
    await button(page, 1, 'Remove').press('Enter');
    expect(await focused(page)).to.equal('Remove: step 2, media/add-border');
    await page.getByLabel('dryrun').check();
    expect(await sent(page)).to.deep.equal([
      { use: 'media/resize', height: 40 },
      { use: 'media/add-border', width: 3 },
    ]);
    expect(await page.locator('#status').textContent()).to.include('200 ok');
    // The address has them too, for a link and a reload.
    await page.waitForURL(/#steps=/);
    const other = await chromium.open(page.url());
    expect(await legends(other)).to.deep.equal(['1. media/resize', '2. media/add-border']);
    expect(await step(other, 1).getByLabel('width').inputValue()).to.equal('3');
    await button(page, 1, 'Remove').press('Enter');
    await button(page, 0, 'Remove').press('Enter');
    expect(await focused(page)).to.equal('add-step');
    for (let at = 0; at < 10; at += 1) await add(page, 'media/convert');
    expect(await page.getByRole('button', { name: 'Add', exact: true }).isDisabled()).to.equal(true);
  });

  it('labels and describes each control of each step by ids of its own', async () => {
    const page = await chromium.open('/?helper=pipeline');
    for (let at = 0; at < 2; at += 1) {
      for (const id of await page.locator('#add-step option').allTextContents()) await add(page, id);
    }
    const broken = await page.evaluate(`[
      ...[...document.querySelectorAll('[id]')].filter(({ id }) => document.querySelectorAll('#' + CSS.escape(id)).length > 1),
      ...[...document.querySelectorAll('label')].filter(({ control }) => control === null),
      ...[...document.querySelectorAll('[aria-describedby]')].filter((each) =>
        each.getAttribute('aria-describedby').split(' ').some((id) => document.getElementById(id) === null)),
      ...[...document.querySelectorAll('[data-for]')].filter((each) =>
        each.closest('.field') !== document.getElementById(each.dataset.for).closest('.field')),
    ].map(({ outerHTML }) => outerHTML)`);
    expect(broken).to.deep.equal([]);
  });

  it('shows a problem at the field of its step, at the step, or at the list', async () => {
    const page = await chromium.open('/?helper=pipeline');
    await page.getByRole('button', { name: 'Landscape' }).click();
    const problem = (within = page.locator('#try')) => within.locator('.problem').allTextContents();
    expect(await press(page)).to.include('400 invalid_input');
    expect(await focused(page)).to.equal('add-step');
    expect((await problem())[0]).to.match(/^steps is required/);
    await add(page, 'media/add-border');
    expect(await problem()).to.deep.equal([]);
    await add(page, 'media/resize');
    await step(page, 0).getByLabel('width').fill('3');
    await step(page, 1).getByLabel('width').fill('0');
    await press(page);
    expect(await problem(step(page, 0))).to.deep.equal([]);
    expect((await problem(step(page, 1)))[0]).to.match(/^width must be an integer from 1/);
    expect(await focused(page)).to.equal(await step(page, 1).getByLabel('width').getAttribute('id'));
    const gone = encodeURIComponent('[{"use":"media/convert"},{"use":"shop/gone","x":1}]');
    const other = await chromium.open(`/?helper=pipeline#steps=${gone}`);
    await other.getByRole('button', { name: 'Landscape' }).click();
    await other.locator('[data-chosen]:visible').waitFor();
    await press(other);
    expect((await problem(step(other, 1)))[0]).to.match(/^use must be one of/);
    expect(await focused(other)).to.equal(await step(other, 1).getAttribute('id'));
  });

  it('offers no link to a recipe that is too long for an address', async () => {
    const page = await chromium.open('/?helper=pipeline');
    await add(page, 'media/add-watermark');
    const link = page.getByRole('link', { name: 'Make this a recipe' });
    const text = step(page, 0).getByLabel('text', { exact: true });
    await text.fill('{');
    expect(await link.isVisible()).to.equal(true);
    expect(await page.locator('#recipe-json').textContent()).to.include('"text": "{{"');
    await text.fill('x'.repeat(8000));
    expect(await link.isVisible()).to.equal(false);
    expect(chromium.faults).to.deep.equal([]);
  });
});
