/* global SwaggerUIBundle */
// The viewer has a dark dress of its own, which it puts on by this class.
const dark = matchMedia('(prefers-color-scheme: dark)');
const dress = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', dress);
dress();

// In forms the viewer fills every field with a value of its own making, an integer's with its bound, and sends it. What may be left out
// and has no value to show is left empty here, and what is left empty is not sent.
const forms = ['multipart/form-data', 'application/x-www-form-urlencoded'];
const blank = new Map();

function leaveBlank(described) {
  for (const [path, { post }] of Object.entries(described.paths)) {
    const names = new Set();
    for (const form of forms) {
      const { properties = {}, required = [] } = post?.requestBody?.content[form]?.schema ?? {};
      for (const [name, property] of Object.entries(properties)) {
        const isShown = ['default', 'example', 'examples'].some((key) => key in property);
        const isText = !['array', 'object'].includes(property.type) && property.format !== 'binary';
        if (isShown || !isText || required.includes(name)) continue;
        property.example = '';
        names.add(name);
      }
    }
    blank.set(path, names);
  }
  return described;
}

function withoutBlank(request) {
  const { body, url, headers } = request;
  const names = blank.get(new URL(url, location.href).pathname) ?? [];
  const isText = typeof body === 'string' && headers['Content-Type'] === forms[1];
  const fields = isText ? new URLSearchParams(body) : body;
  if (!isText && !(fields instanceof FormData)) return request;
  for (const name of names) if (fields.get(name) === '') fields.delete(name);
  if (isText) request.body = fields.toString();
  return request;
}

// The key stays in the page's memory: nothing is stored, and only this gateway is called.
const place = document.getElementById('reference');
SwaggerUIBundle({
  url: place.dataset.document,
  domNode: place,
  validatorUrl: null,
  persistAuthorization: false,
  queryConfigEnabled: false,
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  requestInterceptor: withoutBlank,
  responseInterceptor(response) {
    if (response.url === new URL(place.dataset.document, location.href).href) {
      response.text = JSON.stringify(leaveBlank(JSON.parse(response.text)));
    }
    return response;
  },
});
