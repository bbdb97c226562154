import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { type InPlayground, press } from './in-playground.js';

/** Drops files of these names on a field. */
function drop(page: Page, field: string, names: string[]): Promise<unknown> {
  return page.evaluate(`(() => {
    const data = new DataTransfer();
    for (const name of ${JSON.stringify(names)}) data.items.add(new File(['a,b'], name, { type: 'text/csv' }));
    const event = new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
    document.querySelector('[data-file="${field}"] .drop').dispatchEvent(event);
  })()`);
}

/** Files, whichever way they come. */
export function describeFiles(chromium: InPlayground): void {
  it('takes a file that is dropped on its field or pasted, and lets it go again', async () => {
    const page = await chromium.open('/?helper=all/controls');
    await drop(page, 'table', ['table.csv']);
    await page.getByLabel('title').fill('x');
    await page.getByLabel('text', { exact: true }).fill('one\ntwo');
    await page.getByLabel('size.width').fill('1');
    expect(await page.locator('#snippet').textContent()).to.include('-F table=@table.csv');
    await press(page);
    const { data } = JSON.parse((await page.locator('.view.json').textContent()) ?? '');
    expect([data.files, data.text]).to.deep.equal([['table'], 'one\ntwo']);
    await page.getByRole('button', { name: 'Remove table' }).click();
    expect(await page.locator('#snippet').textContent()).not.to.include('table.csv');
    await page.evaluate(`(() => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File(['…'], 'image.png', { type: 'image/png' }));
      document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
    })()`);
    expect(await page.locator('#snippet').textContent()).to.include('-F logo=@image.png');
  });

  it('says that it takes the first of several, and lets it go for a url', async () => {
    const page = await chromium.open('/?helper=all/controls');
    const snippet = page.locator('#snippet');
    await drop(page, 'table', ['one.csv', 'two.csv']);
    expect(await snippet.textContent())
      .to.include('table=@one.csv')
      .and.not.include('two.csv');
    const said = page.locator('[data-file="table"] [data-chosen]');
    expect(await said.textContent()).to.include('the first of 2 files, 3 bytes');
    await page.getByLabel('url of table').fill('https://example.com/table.csv');
    expect(await said.isVisible()).to.equal(false);
    expect(await snippet.textContent())
      .to.include('https://example.com/table.csv')
      .and.not.include('one.csv');
    await drop(page, 'table', ['one.csv']);
    expect(await page.getByLabel('url of table').inputValue()).to.equal('');
  });
}
