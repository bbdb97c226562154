/* global SwaggerUIBundle */
// The viewer has a dark dress of its own, which it puts on by this class.
const dark = matchMedia('(prefers-color-scheme: dark)');
const dress = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', dress);
dress();

// The key stays in the page's memory: nothing is kept, and nobody but this gateway is asked.
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
});
