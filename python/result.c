/* result.c - what an analysis found: a dict that a notebook can show.
 *
 * cleave.Result is a dict in every respect, with two methods more. How it looks
 * and what pandas gets is for cleave.notebook to say, which is imported when it
 * is first needed. */
#include "bridge.h"

static PyObject *result_type;

PyObject *notebook_call(const char *name, PyObject *self, PyObject *args,
                        PyObject *kw)
{
    PyObject *module = PyImport_ImportModule("cleave.notebook");
    PyObject *fn = module ? PyObject_GetAttrString(module, name) : NULL;
    Py_ssize_t n = args ? PyTuple_Size(args) : 0;
    PyObject *all = fn ? PyTuple_New(n + 1) : NULL, *result = NULL;
    for (Py_ssize_t i = 0; all && i <= n; i++) {
        PyObject *o = i ? PyTuple_GetItem(args, i - 1) : self;
        Py_INCREF(o);
        PyTuple_SetItem(all, i, o);
    }
    if (all)
        result = PyObject_Call(fn, all, kw);
    Py_XDECREF(all);
    Py_XDECREF(fn);
    Py_XDECREF(module);
    return result;
}

PyObject *result_new(PyObject *dict)
{
    if (!dict || !PyDict_Check(dict))
        return dict;
    PyObject *result = PyObject_CallFunctionObjArgs(result_type, dict, NULL);
    Py_DECREF(dict);
    return result;
}

static PyObject *result_html(PyObject *self, PyObject *unused)
{
    (void)unused;
    return notebook_call("result_html", self, NULL, NULL);
}

static PyObject *result_frame(PyObject *self, PyObject *args, PyObject *kw)
{
    return notebook_call("result_frame", self, args, kw);
}

static PyMethodDef result_methods[] = {
    {"_repr_html_", result_html, METH_NOARGS,
     "_repr_html_($self)\n--\n\nThe figures and the first rows, as HTML."},
    {"to_dataframe", (PyCFunction)(void (*)(void))result_frame,
     METH_VARARGS | METH_KEYWORDS,
     "to_dataframe($self, key=None)\n--\n\n"
     "The rows under a key (without one, the list that says most) as a pandas\n"
     "DataFrame."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot result_slots[] = {
    {Py_tp_methods, result_methods},
    {Py_tp_doc, "What an analysis found: the command's JSON as a dict."},
    {0, NULL},
};

static PyType_Spec result_spec = {
    .name = "cleave.Result",
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = result_slots,
};

PyObject *result_type_new(void)
{
    PyObject *bases = PyTuple_Pack(1, (PyObject *)&PyDict_Type);
    result_type = bases ? PyType_FromSpecWithBases(&result_spec, bases) : NULL;
    Py_XDECREF(bases);
    return result_type;
}
