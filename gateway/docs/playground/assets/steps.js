/** The steps of a call, each in a copy of its helper's form. They follow their JSON in a hidden input, and it follows them. */
import { enableControls } from './controls.js';
import { all, announce, byId, copyFrom } from './dom.js';
import { fillForm, jsonOf, readInput } from './fields.js';
import { recipeOf } from './request.js';

/** Common proxies refuse longer addresses. */
const longest = 8000;

export function enableSteps() {
  const list = byId('steps');
  if (!list) return;
  const json = byId('steps-json');
  const choice = byId('add-step');
  const add = byId('add-step-button');
  let copies = 0;

  function append({ use = '', ...values }) {
    copies += 1;
    const item = copyOf(use, `s${copies}`);
    list.append(item);
    const step = item.firstElementChild;
    enableControls(step);
    fillForm(step, Object.entries(values));
    return step;
  }

  function write() {
    const steps = all('[data-step]', list).map((step) => ({ use: step.dataset.step, ...readInput(step) }));
    json.value = steps.length === 0 ? '' : JSON.stringify(steps);
  }

  function follow() {
    numberSteps(list);
    add.disabled = list.children.length >= Number(list.dataset.most);
    write();
  }

  /** After a step was added, moved or removed by hand. */
  function change() {
    follow();
    choice.dispatchEvent(new Event('input', { bubbles: true }));
  }

  list.addEventListener('input', write);
  list.addEventListener('click', ({ target }) => {
    if (!target.dataset.act) return;
    const near = act(target);
    change();
    // Moved or disabled, a button loses the focus.
    const buttons = near ? all('[data-act]:enabled', near) : [choice];
    (buttons.find(({ dataset }) => dataset.act === target.dataset.act) ?? buttons[0]).focus();
  });
  add.addEventListener('click', () => {
    const step = append({ use: choice.value });
    change();
    step.focus();
  });
  json.addEventListener('filled', () => {
    const steps = jsonOf(json.value);
    list.replaceChildren();
    for (const step of Array.isArray(steps) ? steps : []) {
      if (typeof step === 'object' && step !== null) append(step);
    }
    follow();
  });
  const copy = byId('copy-recipe');
  copy.addEventListener('click', () => copyFrom(copy, byId('recipe-json').textContent));
}

/** A copy of the form of a step's helper, with ids of its own; of one without a form where the helper cannot be a step. */
function copyOf(use, id) {
  const templates = all('[data-step-of]');
  const template = templates.find(({ dataset }) => dataset.stepOf === use) ?? templates.at(-1);
  const item = document.importNode(template.content, true).firstElementChild;
  for (const element of all('*', item)) {
    for (const name of ['id', 'for', 'aria-describedby', 'data-for', 'data-auto']) {
      const value = element.getAttribute(name);
      if (value) element.setAttribute(name, value.replaceAll(/(?<!\S)step(?=-|$)/g, id));
    }
  }
  item.firstElementChild.dataset.step = use;
  return item;
}

/** Does what a step's button says; gives the step to go on from, if there is one. */
function act(button) {
  const item = button.closest('li');
  const { previousElementSibling: before, nextElementSibling: after, firstElementChild: step } = item;
  if (button.dataset.act === 'Remove') {
    item.remove();
    announce(`${step.dataset.step} removed`);
    return after ?? before;
  }
  if (button.dataset.act === 'Up') before.before(item);
  else after.after(item);
  announce(`${step.dataset.step} is step ${[...item.parentNode.children].indexOf(item) + 1}`);
  return item;
}

function numberSteps(list) {
  for (const [at, item] of [...list.children].entries()) {
    const { step } = item.firstElementChild.dataset;
    item.querySelector('legend').textContent = `${at + 1}. ${step}`;
    for (const button of all('[data-act]', item)) {
      const { act } = button.dataset;
      button.setAttribute('aria-label', `${act}: step ${at + 1}, ${step}`);
      button.disabled =
        (act === 'Up' && item === list.firstElementChild) ||
        (act === 'Down' && item === list.lastElementChild);
    }
  }
}

/** Shows the steps as a recipe, and leads to where it can be stored, unless it is too long for an address. */
export function showRecipe(form) {
  const panel = byId('recipe');
  if (!panel) return;
  const input = readInput(form);
  panel.hidden = input.steps === undefined;
  if (panel.hidden) return;
  const recipe = recipeOf(input);
  byId('recipe-json').textContent = JSON.stringify(recipe, null, 2);
  const link = byId('make-recipe');
  if (!link) return;
  link.href = `${link.href.replace(/\?.*/, '')}?definition=${encodeURIComponent(JSON.stringify(recipe))}`;
  link.parentElement.hidden = link.href.length > longest;
}
