/** What the pages do better with a script. Without it everything works, with a click or a look more. */

function enableCopying() {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll('button[data-copy]')) {
    const source = document.getElementById(button.dataset.copy);
    if (!source) continue;
    button.hidden = false;
    const content = [...button.childNodes];
    button.addEventListener('click', async () => {
      let text = 'Copied';
      try {
        await navigator.clipboard.writeText(source.textContent);
      } catch {
        getSelection()?.selectAllChildren(source);
        text = 'Selected: press Ctrl+C';
      }
      button.textContent = text;
      announce(text);
      setTimeout(() => button.replaceChildren(...content), 2500);
    });
  }
}

/** Announces it to screen readers. */
function announce(text) {
  let status = document.getElementById('announce');
  if (!status) {
    status = document.createElement('p');
    status.id = 'announce';
    status.className = 'hidden';
    status.setAttribute('role', 'status');
    document.getElementById('main')?.append(status);
  }
  status.textContent = text;
}

/** A reload of a page that shows a secret then asks for the page below it, and not whether to send the form again. */
function forgetForm() {
  const shown = document.querySelector('[data-replace]');
  if (shown) history.replaceState(null, '', shown.dataset.replace);
}

function enableTips() {
  for (const chart of document.querySelectorAll('figure.chart')) {
    const tip = chart.querySelector('.tip');
    if (!tip) continue;
    for (const bar of chart.querySelectorAll('[data-tip]')) bar.querySelector('title')?.remove();
    chart.addEventListener('pointermove', (event) => {
      const text = event.target.dataset?.tip;
      tip.hidden = !text;
      if (!text) return;
      tip.textContent = text;
      const frame = chart.getBoundingClientRect();
      const left = event.clientX - frame.left - tip.offsetWidth / 2;
      tip.style.left = `${Math.max(0, Math.min(left, frame.width - tip.offsetWidth))}px`;
      tip.style.top = `${Math.max(0, event.clientY - frame.top - tip.offsetHeight - 12)}px`;
    });
    chart.addEventListener('pointerleave', () => {
      tip.hidden = true;
    });
  }
}

/** Asks over the page what without this script a page of its own asks. */
function openDialogs() {
  for (const link of document.querySelectorAll('a[data-dialog]')) {
    const dialog = document.getElementById(link.dataset.dialog);
    if (!dialog?.showModal) continue;
    link.setAttribute('role', 'button');
    link.setAttribute('aria-haspopup', 'dialog');
    const open = (event) => {
      event.preventDefault();
      dialog.showModal();
      // Not its first button, which a key that is held down would press.
      dialog.focus();
    };
    link.addEventListener('click', (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey) open(event);
    });
    link.addEventListener('keydown', (event) => {
      if (event.key === ' ') open(event);
    });
  }
}

/** A button in each form with passwords that shows what was typed. */
function enableShowing() {
  for (const form of document.forms) {
    const fields = [...form.querySelectorAll('input[type="password"]')];
    if (fields.length === 0) continue;
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'small quiet-button';
    button.textContent = 'Show password';
    button.addEventListener('click', () => {
      const isShown = fields[0].type === 'text';
      for (const field of fields) field.type = isShown ? 'password' : 'text';
      button.textContent = isShown ? 'Show password' : 'Hide password';
    });
    fields.at(-1).after(button);
  }
}

/** A second click on a button must not send a form twice. */
function sendOnce() {
  document.addEventListener('submit', (event) => {
    // Closes a dialog and sends nothing.
    if (event.submitter?.formMethod === 'dialog') return;
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = '1';
  });
  // The page may come back from the history as it was left.
  addEventListener('pageshow', () => {
    for (const form of document.forms) delete form.dataset.sent;
  });
}

/** Says that no picture came, in place of the browser's broken image. It may have failed before this script ran. */
function reportMissingPictures() {
  for (const picture of document.querySelectorAll('img[data-preview]')) {
    const showProblem = () => {
      picture.hidden = true;
      const problem = document.getElementById(picture.dataset.preview);
      if (problem) problem.hidden = false;
    };
    if (picture.complete && picture.naturalWidth === 0) showProblem();
    else picture.addEventListener('error', showProblem);
  }
}

/** Reloads the page while it is visible and the visitor does nothing else on it. */
function refreshRegularly() {
  const wanted = document.querySelector('[data-look-again]');
  if (!wanted) return;
  const hint = wanted.querySelector('[hidden]');
  if (hint) hint.hidden = false;
  setInterval(() => {
    const isIdle = document.activeElement === document.body && String(getSelection()) === '';
    if (isIdle && document.visibilityState === 'visible') location.reload();
  }, Number(wanted.dataset.lookAgain));
}

forgetForm();
enableCopying();
enableShowing();
enableTips();
reportMissingPictures();
sendOnce();
openDialogs();
refreshRegularly();
