/** Files: chosen, dropped, pasted, from the samples, and removed again. */
import { all, announce } from './dom.js';

/** The chosen file of each field, however it was chosen. */
const chosen = new WeakMap();

export function enableFiles(form) {
  for (const field of all('[data-file]', form)) enableField(field);
}

/** The browser would open a file that misses its field in place of the page, and the form would be lost. */
export function ignoreStrayFiles() {
  for (const name of ['dragover', 'drop']) addEventListener(name, (event) => event.preventDefault());
}

/** A pasted picture goes to the field with the focus, or to the first free one. */
export function acceptPastedFiles() {
  addEventListener('paste', ({ clipboardData, target }) => {
    const [file] = clipboardData?.files ?? [];
    // Spreadsheets copy a picture beside a text.
    const isText = clipboardData?.types.includes('text/plain');
    if (!file || isText) return;
    const fields = all('#try [data-file]').filter((field) => accepts(field, file));
    const field =
      fields.find((each) => each.contains(target)) ?? fields.find((each) => !chosen.has(each)) ?? fields[0];
    if (field) choose(field, file);
  });
}

function accepts(field, { type }) {
  const { accept } = field.querySelector('input[type=file]');
  return accept === '' || accept.split(',').some((each) => type.startsWith(each.replace(/\*$/, '')));
}

/** The files that are to be sent, by field. */
export function filesOf(form) {
  return new Map(
    all('[data-file]', form).flatMap((field) => {
      const file = chosen.get(field);
      return file ? [[field.dataset.file, file]] : [];
    }),
  );
}

export function dropFiles(form) {
  for (const field of all('[data-file]', form)) choose(field, undefined);
}

/**
 * Chooses the first sample for each picture that an example needs and the form has not. A picture that replaces a parameter is chosen
 * where the example lacks the parameter, and removed where it has it.
 */
export async function chooseSamples(form, example) {
  for (const field of all('[data-file]', form)) {
    const url = field.querySelector('[data-url]').value;
    const { insteadOf } = field.dataset;
    if (insteadOf in example) choose(field, undefined);
    const isRequired =
      field.querySelector('[id$="-required"]') !== null ||
      (insteadOf !== undefined && !(insteadOf in example));
    const sample = field.querySelector('[data-sample]');
    if (sample && isRequired && url === '' && !chosen.has(field)) await takeSample(field, sample);
  }
}

function enableField(field) {
  const input = field.querySelector('input[type=file]');
  const drop = field.querySelector('.drop');
  input.addEventListener('change', () => choose(field, input.files[0]));
  field.querySelector('[data-clear]').addEventListener('click', () => {
    choose(field, undefined);
    input.focus();
  });
  for (const sample of all('[data-sample]', field)) {
    sample.addEventListener('click', () => takeSample(field, sample));
  }
  field.addEventListener('dragover', () => drop.classList.add('over'));
  for (const name of ['dragleave', 'drop']) field.addEventListener(name, () => drop.classList.remove('over'));
  field.addEventListener('drop', (event) => {
    const { files = [] } = event.dataTransfer ?? {};
    if (files.length > 0) choose(field, files[0], files.length);
  });
  const url = field.querySelector('[data-url]');
  url.addEventListener('input', () => {
    const file = chosen.get(field);
    if (!file || url.value.trim() === '') return;
    choose(field, undefined);
    announce(`${file.name} removed`);
  });
}

async function takeSample(field, button) {
  try {
    const answer = await fetch(button.dataset.sample);
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const bytes = await answer.blob();
    choose(field, new File([bytes], button.dataset.sample.split('/').at(-1), { type: bytes.type }));
  } catch {
    announce('The sample could not be fetched.');
  }
}

/** `of` is the number of files, of which a field accepts one. */
function choose(field, file, of = 1) {
  const line = field.querySelector('[data-chosen]');
  line.hidden = file === undefined;
  const input = field.querySelector('input[type=file]');
  if (file === undefined) {
    chosen.delete(field);
    input.value = '';
  } else {
    chosen.set(field, file);
    line.firstElementChild.textContent = `${of > 1 ? `the first of ${of} files, ` : ''}${amount(file.size)}`;
    // Only one of the two can be sent.
    field.querySelector('[data-url]').value = '';
    if (input.files[0] !== file) {
      announce(`${file.name} chosen${of > 1 ? `, the first of ${of} files` : ''}`);
      // The browser's own field would go on saying that none is.
      const here = new DataTransfer();
      here.items.add(file);
      input.files = here.files;
    }
  }
  field.dispatchEvent(new Event('input', { bubbles: true }));
}

/** Bytes in the unit that fits. */
export function amount(bytes) {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  const [size, unit] = bytes < 1024 ** 2 ? [bytes / 1024, 'KB'] : [bytes / 1024 ** 2, 'MB'];
  return `${size.toLocaleString('en', { maximumFractionDigits: 1 })} ${unit}`;
}
