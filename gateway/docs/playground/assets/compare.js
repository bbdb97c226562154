/** A picture before and after, laid over each other; a slider says how much of each is seen. */
import { el } from './dom.js';
import { amount } from './files.js';

let shown = [];

/** An address for bytes, until the next answer is shown. */
export function addressFor(blob) {
  const address = URL.createObjectURL(blob);
  shown.push(address);
  return address;
}

export function forgetAddresses() {
  for (const address of shown) URL.revokeObjectURL(address);
  shown = [];
}

/** The pictures as elements; `before` is undefined where it did not come from this page. */
export async function compareView(before, after) {
  const [one, two] = await Promise.all([
    before && picture(before, 'Before'),
    picture(after, before ? 'After' : 'What came back'),
  ]);
  if (!two) return undefined;
  const facts = el('dl', { class: 'picture-facts' });
  if (one) facts.append(factsOf('Before', before, one));
  facts.append(factsOf(one ? 'After' : 'Picture', after, two));
  if (!one) return el('div', { class: 'pictures' }, el('div', { class: 'checkerboard' }, two), facts);
  return el('div', { class: 'pictures' }, ...overlaid(one, two), facts);
}

/** Both in the middle of a frame that holds the larger, at one scale. */
function overlaid(one, two) {
  const width = Math.max(one.naturalWidth, two.naturalWidth);
  const height = Math.max(one.naturalHeight, two.naturalHeight);
  const frame = el('div', { class: 'checkerboard overlaid' });
  for (const [image, kind] of [
    [one, 'before'],
    [two, 'after'],
  ]) {
    image.style.width = `${(image.naturalWidth / width) * 100}%`;
    frame.append(el('div', { class: `layer ${kind}` }, image));
  }
  const slider = el('input', {
    type: 'range',
    min: 0,
    max: 100,
    value: 30,
    class: 'cut',
    'aria-label': 'Before and after',
  });
  const cut = () => {
    frame.style.setProperty('--cut', `${slider.value}%`);
    slider.setAttribute('aria-valuetext', `${slider.value} % before, ${100 - slider.value} % after`);
  };
  slider.addEventListener('input', cut);
  cut();
  const ends = el('div', { class: 'cut-ends' }, el('span', {}, 'Before'), el('span', {}, 'After'));
  const row = el('div', { class: 'cut-row' }, slider, ends);
  for (const { style } of [frame, row]) {
    style.setProperty('--width', `${width}px`);
    style.setProperty('--aspect', String(width / height));
  }
  return [frame, row];
}

async function picture(blob, alt) {
  const image = el('img', { src: addressFor(blob), alt });
  try {
    await image.decode();
    return image;
  } catch {
    return undefined;
  }
}

function factsOf(name, blob, { naturalWidth, naturalHeight }) {
  const format = blob.type
    .replace(/^image\//, '')
    .replace(/[+;].*/, '')
    .toUpperCase();
  return el(
    'div',
    {},
    el('dt', {}, name),
    el(
      'dd',
      {},
      `${naturalWidth} × ${naturalHeight} px, ${format || 'unknown format'}, ${amount(blob.size)}`,
    ),
  );
}
