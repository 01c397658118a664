# A site with nothing but the shop
import os

SECRET_KEY = 'none'
INSTALLED_APPS = ['shop']
DATABASES = {
    'default': {
        'ENGINE': 'django.db.backends.postgresql',
        'HOST': os.environ.get('PGHOST', ''),
        'PORT': os.environ.get('PGPORT', ''),
        'USER': os.environ.get('PGUSER', ''),
        'NAME': os.environ.get('PGDATABASE', ''),
    }
}
USE_TZ = True
DEFAULT_AUTO_FIELD = 'django.db.models.BigAutoField'
