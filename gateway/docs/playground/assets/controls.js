/** Controls beside a text that follow it, or that it follows: sliders, colour pickers, alternatives, the key's button. */
import { all, byId } from './dom.js';
import { isIdle } from './fields.js';

/** Of a form, or of a step in it. */
export function enableControls(form) {
  for (const slider of all('.slider', form)) enableBeside(slider, followWithSlider);
  for (const picker of all('.picker', form)) enableBeside(picker, followWithPicker);
  for (const button of all('[data-auto]', form)) enableAuto(button);
  for (const select of all('[data-tag]', form)) enableVariants(form, select);
  enableIdle(form);
}

function whenChanged(input, follow) {
  input.addEventListener('input', follow);
  input.addEventListener('filled', follow);
  follow();
}

function type(input, text) {
  input.value = text;
  input.dispatchEvent(new Event('input', { bubbles: true }));
}

/** A control beside a text is no field of its own: what is set there is typed here. */
function enableBeside(control, follow) {
  const input = byId(control.dataset.for);
  control.addEventListener('input', (event) => {
    event.stopPropagation();
    type(input, control.value);
  });
  whenChanged(input, () => follow(control, input));
}

function followWithSlider(slider, { value }) {
  const plain = value.trim();
  const number = plain.endsWith('%') ? Number(plain.slice(0, -1)) / 100 : Number(plain);
  if (plain !== '' && Number.isFinite(number))
    slider.value = String(number > 1 && slider.max === '1' ? number / 100 : number);
}

function followWithPicker(picker, input) {
  const hex = hexOf(input.value);
  // A phrase is understood by the gateway alone: no swatch is better than a wrong one.
  picker.classList.toggle('unknown', hex === undefined);
  picker.title =
    hex ?? (isAuto(input) ? 'Left to the helper' : 'Not a colour that the browser knows; the gateway may');
  if (hex !== undefined) picker.value = hex;
}

/** Whether the choice is left to the helper, be it because that is the default. */
function isAuto(input) {
  return (input.value.trim() || input.placeholder).toLowerCase() === 'auto';
}

/** Writes `auto`, or restores the text before it. */
function enableAuto(button) {
  const input = byId(button.dataset.auto);
  let before = '';
  button.addEventListener('click', () => {
    const wasAuto = isAuto(input);
    type(input, wasAuto ? before : 'auto');
    // The value is typed next.
    if (wasAuto) input.focus();
  });
  whenChanged(input, () => {
    if (!isAuto(input)) before = input.value;
    button.setAttribute('aria-pressed', String(isAuto(input)));
  });
}

/** What makes no sense beside the other values can be neither changed nor sent; its hint says what it is for. */
function enableIdle(form) {
  const places = all('[data-only]', form);
  const follow = () => {
    for (const place of places) {
      const idle = isIdle(form, place);
      place.classList.toggle('idle', idle);
      for (const input of all('input, select, textarea, button', place)) input.disabled = idle;
    }
  };
  if (places.length === 0) return;
  // `filled` does not bubble, so it is captured.
  for (const name of ['input', 'filled']) form.addEventListener(name, follow, true);
  follow();
}

const canvas = document.createElement('canvas').getContext('2d');

/** A colour that the browser knows, as `#rrggbb`. */
function hexOf(text) {
  const plain = text.trim();
  const known = [plain, `#${plain}`].find((each) => CSS.supports('color', each));
  if (known === undefined || !canvas) return undefined;
  canvas.fillStyle = '#000000';
  canvas.fillStyle = known;
  return /^#[0-9a-f]{6}$/.test(canvas.fillStyle) ? canvas.fillStyle : undefined;
}

function enableVariants(form, select) {
  const variants = all('[data-variant]', form).filter(
    ({ dataset }) => dataset.variant === select.dataset.tag,
  );
  whenChanged(select, () => {
    for (const variant of variants) variant.hidden = variant.dataset.value !== select.value;
  });
}

export function enableKey() {
  const button = byId('show-key');
  const input = byId('key');
  button.addEventListener('click', () => {
    const isShown = input.type === 'text';
    input.type = isShown ? 'password' : 'text';
    button.textContent = isShown ? 'Show' : 'Hide';
    button.setAttribute('aria-pressed', String(!isShown));
  });
}
