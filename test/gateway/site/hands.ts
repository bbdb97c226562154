import type { Locator, Page } from 'playwright-core';

/** Somebody who works on a page. What leads somewhere or changes something is counted; a text that is typed is not. */
export interface Hand {
  /** Links, buttons and forms that were sent so far. */
  clicks: number;
  /** Presses of the Tab key. */
  tabs: number;
  /** Follows a link or presses a button, and waits for what is there next. */
  click(target: Locator, next: Locator): Promise<void>;
  /** Fills a field in; where `next` is given, Enter sends it. */
  type(field: Locator, text: string, next?: Locator): Promise<void>;
  /** Chooses one of several. */
  choose(choice: Locator): Promise<void>;
}

/** No page should ask for more, from its top to any of its parts. */
const mostTabs = 250;

/** A mouse, and fingers for texts alone. */
export function mouseOn(page: Page): Hand {
  const hand: Hand = {
    ...{ clicks: 0, tabs: 0 },
    async click(target, next) {
      hand.clicks += 1;
      await target.click();
      await next.waitFor();
    },
    async type(field, text, next) {
      await field.click();
      await field.fill('');
      await page.keyboard.type(text);
      if (next) await enter(hand, page, next);
    },
    choose: (choice) => choice.check(),
  };
  return hand;
}

/** The keys Tab, Enter and the arrows. */
export function keysOn(page: Page): Hand {
  async function tabTo(target: Locator, sameGroup = false): Promise<void> {
    await target.waitFor();
    for (let presses = 0; presses < mostTabs; presses += 1) {
      if (await isFocused(target, sameGroup)) return;
      await page.keyboard.press('Tab');
      hand.tabs += 1;
    }
    throw new Error(`the Tab key does not lead to ${target}`);
  }
  const hand: Hand = {
    ...{ clicks: 0, tabs: 0 },
    async click(target, next) {
      await tabTo(target);
      await enter(hand, page, next);
    },
    async type(field, text, next) {
      await tabTo(field);
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.type(text);
      if (next) await enter(hand, page, next);
    },
    async choose(choice) {
      await tabTo(choice, true);
      for (let presses = 0; presses < 20 && !(await choice.isChecked()); presses += 1) {
        await page.keyboard.press('ArrowUp');
      }
    },
  };
  return hand;
}

/** An element of a page, as far as this file looks at it: the tests know no DOM. */
interface Element {
  name?: string;
  ownerDocument: { activeElement: Element | null };
}

/** Whether the Tab key has led to an element, or to another one of its group. */
function isFocused(target: Locator, orGroup: boolean): Promise<boolean> {
  const look = (element: Element, orGroup: boolean) => {
    const { activeElement } = element.ownerDocument;
    return activeElement === element || (orGroup && activeElement?.name === element.name);
  };
  return target.evaluate(look as never, orGroup);
}

async function enter(hand: Hand, page: Page, next: Locator): Promise<void> {
  hand.clicks += 1;
  await page.keyboard.press('Enter');
  await next.waitFor();
}
